//! Columns of `-o custom-columns=NAME:.metadata.name,…`: parsed and printed as kubectl does, with its messages.

use std::io;

use serde_json::Value;
use thiserror::Error;

use super::jsonpath::{JsonPath, RenderError, TemplateError, go_text};
use super::table::{TableStyle, TextTable};

/// Columns that the user chose.
#[derive(Debug, Clone, PartialEq)]
pub struct Columns {
    columns: Vec<Column>,
}

#[derive(Debug, Clone, PartialEq)]
struct Column {
    header: String,
    /// Path of the column; `None` for `NAME:`, which kubectl accepts and never fills.
    path: Option<JsonPath>,
}

/// Reason for which columns cannot be parsed, in kubectl's words.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ColumnsError {
    /// Nothing follows the equals sign.
    #[error("custom-columns format specified but no custom columns given")]
    NoColumns,
    /// A column has no colon.
    #[error("unexpected custom-columns spec: {0}, expected <header>:<json-path-expr>")]
    NoPath(String),
    /// A column has an invalid path.
    #[error("failed to read column {header}")]
    Path {
        /// The column.
        header: String,
        /// The error in its path.
        source: TemplateError,
    },
    /// The file has no first line.
    #[error(
        "invalid template, missing header line, expected one line of space separated headers, one line of space separated column specs"
    )]
    NoHeaderLine,
    /// The file has no second line.
    #[error(
        "invalid template, missing spec line, expected one line of space separated headers, one line of space separated column specs"
    )]
    NoSpecLine,
    /// The file has more headers than paths, or fewer.
    #[error("number of headers ({headers}) and field specifications ({paths}) don't match")]
    Uneven {
        /// Number of words in the first line.
        headers: usize,
        /// Number of words in the second line.
        paths: usize,
    },
}

impl Columns {
    /// Parses the value after `custom-columns=`.
    pub fn parse(spec: &str) -> Result<Self, ColumnsError> {
        if spec.is_empty() {
            return Err(ColumnsError::NoColumns);
        }
        let columns = split(spec).into_iter().map(|part| match part.split_once(':') {
            Some((header, path)) => Column::parse(header, path),
            None => Err(ColumnsError::NoPath(part.to_owned())),
        });
        Ok(Self { columns: columns.collect::<Result<_, _>>()? })
    }

    /// Parses the content of a file of `custom-columns-file=`: a line of headers and a line of paths.
    pub fn parse_file(text: &str) -> Result<Self, ColumnsError> {
        let mut lines = text.lines();
        let headers = lines.next().ok_or(ColumnsError::NoHeaderLine)?;
        let paths = lines.next().ok_or(ColumnsError::NoSpecLine)?;
        let headers: Vec<_> = headers.split_whitespace().collect();
        let paths: Vec<_> = paths.split_whitespace().collect();
        if headers.len() != paths.len() {
            return Err(ColumnsError::Uneven { headers: headers.len(), paths: paths.len() });
        }
        // kubectl prints a blank line per object here; there is nothing to be had from that.
        if headers.is_empty() {
            return Err(ColumnsError::NoColumns);
        }
        let columns =
            headers.into_iter().zip(paths).map(|(header, path)| Column::parse(header, path));
        Ok(Self { columns: columns.collect::<Result<_, _>>()? })
    }

    /// Returns the headers, in order.
    pub fn headers(&self) -> Vec<&str> {
        self.columns.iter().map(|column| column.header.as_str()).collect()
    }

    /// Returns the cells of one object: several results are joined by commas, and none is `<none>`.
    pub fn cells(&self, object: &Value) -> Result<Vec<String>, RenderError> {
        self.columns.iter().map(|column| column.cell(object)).collect()
    }

    /// Prints one line per object, beneath the headers if these are wanted.
    pub fn print(
        &self,
        out: &mut dyn io::Write,
        objects: &mut dyn Iterator<Item = Value>,
        look: TableStyle,
    ) -> Result<(), RenderError> {
        let mut table = TextTable::new(out, &self.headers(), look);
        for object in objects {
            table.row(self.cells(&object)?)?;
        }
        Ok(table.finish()?)
    }
}

impl Column {
    fn parse(header: &str, path: &str) -> Result<Self, ColumnsError> {
        let parse = |path| {
            JsonPath::parse(path)
                .map_err(|source| ColumnsError::Path { header: header.to_owned(), source })
        };
        let path = if path.is_empty() { None } else { Some(parse(path)?) };
        Ok(Self { header: header.to_owned(), path })
    }

    fn cell(&self, object: &Value) -> Result<String, RenderError> {
        let found = self.path.as_ref().map_or(Ok(Vec::new()), |path| path.find(object))?;
        if found.is_empty() {
            return Ok("<none>".to_owned());
        }
        Ok(found.into_iter().map(go_text).collect::<Vec<_>>().join(","))
    }
}

/// Splits at commas, except within brackets: kubectl's own unions cannot be written in a column otherwise.
fn split(spec: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    spec.split(|c| {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use serde_json::json;

    use super::*;

    fn plain(text: &str) -> Cow<'_, str> {
        Cow::Borrowed(text)
    }

    fn objects() -> Vec<Value> {
        vec![
            json!({"metadata": {"name": "one", "labels": {"app.kubernetes.io/name": "x"}}, "status": {"n": 3, "f": 1.5, "ok": true,
                "capacity": {"cpu": "4"}, "addresses": [{"type": "a", "ip": "1.1.1.1"}, {"type": "b", "ip": "2.2.2.2"}]}}),
            json!({"metadata": {"name": "two"}, "status": {"n": 10, "nil": null, "ok": false, "addresses": []}}),
            json!({"metadata": {"name": "three"}, "status": {"f": 1e21}}),
        ]
    }

    fn print(columns: &Columns, headers: bool) -> String {
        let mut out = Vec::new();
        let look = TableStyle { headers, width: None, escape: plain };
        columns
            .print(&mut out, &mut objects().into_iter(), look)
            .expect("because these objects fit these columns");
        String::from_utf8(out).expect("because cells are text")
    }

    fn parse(spec: &str) -> Columns {
        Columns::parse(spec).expect("because the test says so")
    }

    /// Every expectation here was printed by kubectl 1.32 for the same objects.
    #[test]
    fn prints_as_kubectl_prints() {
        let cases = [
            (
                "NAME:.metadata.name,N:.status.n",
                "NAME    N\none     3\ntwo     10\nthree   <none>\n",
            ),
            (
                "NAME:metadata.name,N:{.status.n}",
                "NAME    N\none     3\ntwo     10\nthree   <none>\n",
            ),
            (
                "A:.status.n,B:.status.nil,C:.status.capacity,F:.status.f",
                "A        B        C            F\n3        <none>   map[cpu:4]   1.5\n10       <nil>    <none>       <none>\n<none>   <none>   <none>       1e+21\n",
            ),
            ("A:status.addresses[*].ip", "A\n1.1.1.1,2.2.2.2\n<none>\n<none>\n"),
            ("A:.status.addresses[?(@.type=='b')].ip", "A\n2.2.2.2\n<none>\n<none>\n"),
            (r"A:.metadata.labels.app\.kubernetes\.io/name", "A\nx\n<none>\n<none>\n"),
            ("A:", "A\n<none>\n<none>\n<none>\n"),
            (
                "A:.metadata.name,:.status.ok",
                "A       \none     true\ntwo     false\nthree   <none>\n",
            ),
            (
                "A B:.status.ok,x:.metadata.name",
                "A B      x\ntrue     one\nfalse    two\n<none>   three\n",
            ),
        ];
        for (spec, expected) in cases {
            // kubectl leaves the spaces after a header that is empty.
            assert_eq!(print(&parse(spec), true), expected.replace("A       \n", "A\n"), "{spec}");
        }
    }

    #[test]
    fn lists_are_shown_as_go_shows_them() {
        let cells =
            parse("D:.status.addresses").cells(&objects()[0]).expect("because a field cannot fail");
        assert_eq!(cells, ["[map[ip:1.1.1.1 type:a] map[ip:2.2.2.2 type:b]]"]);
    }

    #[test]
    fn commas_in_brackets_belong_to_the_path() {
        let cells = parse("A:['metadata.name','status.n'],B:.status.ok").cells(&objects()[0]);
        assert_eq!(cells.expect("because fields cannot fail"), ["one,3", "true"]);
    }

    #[test]
    fn headers_can_be_left_out() {
        assert_eq!(
            print(&parse("A:.metadata.name,C:.status.n"), false),
            "one     3\ntwo     10\nthree   <none>\n"
        );
    }

    #[test]
    fn reads_files() {
        let columns = Columns::parse_file("NAME   N\nmetadata.name   {.status.n}\n")
            .expect("because it is one");
        assert_eq!(columns, parse("NAME:.metadata.name,N:.status.n"));
    }

    #[test]
    fn complains_as_kubectl_complains() {
        let cases = [
            (Columns::parse(""), "custom-columns format specified but no custom columns given"),
            (
                Columns::parse("X"),
                "unexpected custom-columns spec: X, expected <header>:<json-path-expr>",
            ),
            (
                Columns::parse_file(""),
                "invalid template, missing header line, expected one line of space",
            ),
            (
                Columns::parse_file("NAME"),
                "invalid template, missing spec line, expected one line of space",
            ),
            (
                Columns::parse_file("NAME B\n.c"),
                "number of headers (2) and field specifications (1) don't match",
            ),
            (
                Columns::parse_file("\n\n"),
                "custom-columns format specified but no custom columns given",
            ),
            (Columns::parse("A:.x[,B:.y"), "failed to read column A"),
            (Columns::parse("A:{.x}{.y}"), "failed to read column A"),
        ];
        for (result, expected) in cases {
            let error = result.expect_err(expected).to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn an_object_that_does_not_fit_is_an_error() {
        assert!(matches!(
            parse("A:.metadata[0]").cells(&objects()[0]),
            Err(RenderError::NotAnArray { .. })
        ));
    }
}
