//! The values that `-o` accepts.

use std::path::PathBuf;
use std::str::FromStr;

use thiserror::Error;

/// Output format, as given to `-o`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Format {
    /// A table with one line per finding.
    #[default]
    Table,
    /// A table with more columns.
    Wide,
    /// The whole report, as JSON.
    Json,
    /// The whole report as YAML.
    Yaml,
    /// Only the names of objects.
    Name,
    /// A template; see [`Template`](super::jsonpath::Template).
    JsonPath(String),
    /// A template whose results are printed as JSON lists.
    JsonPathAsJson(String),
    /// A template that is in a file.
    JsonPathFile(PathBuf),
    /// Columns that the user chose; see [`Columns`](super::columns::Columns).
    CustomColumns(String),
    /// Columns that the user chose, in a file.
    CustomColumnsFile(PathBuf),
}

/// Reason for which a format was not accepted, in kubectl's words.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum FormatError {
    /// No format has this name.
    #[error(r#"unable to match a printer suitable for the output format "{0}", allowed formats are: {ALLOWED}"#)]
    Unknown(String),
    /// `jsonpath` without a template.
    #[error("template format specified but no template given")]
    NoTemplate,
    /// `custom-columns` without columns.
    #[error("custom-columns format specified but no custom columns given")]
    NoColumns,
}

/// All formats that are accepted, sorted as kubectl sorts them.
pub const ALLOWED: &str = "custom-columns,custom-columns-file,json,jsonpath,jsonpath-as-json,jsonpath-file,name,table,wide,yaml";

impl FromStr for Format {
    type Err = FormatError;

    fn from_str(text: &str) -> Result<Self, FormatError> {
        let (name, value) =
            text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        let given = value.filter(|value| !value.is_empty()).map(str::to_owned);
        let template = || given.clone().ok_or(FormatError::NoTemplate);
        let columns = || given.clone().ok_or(FormatError::NoColumns);
        match name {
            "jsonpath" => return Ok(Self::JsonPath(template()?)),
            "jsonpath-as-json" => return Ok(Self::JsonPathAsJson(template()?)),
            "jsonpath-file" => return Ok(Self::JsonPathFile(template()?.into())),
            "custom-columns" => return Ok(Self::CustomColumns(columns()?)),
            "custom-columns-file" => return Ok(Self::CustomColumnsFile(columns()?.into())),
            _ => {}
        }
        // kubectl minds the case of those above and not of these.
        match text.to_ascii_lowercase().as_str() {
            "" | "table" => Ok(Self::Table),
            "wide" => Ok(Self::Wide),
            "json" => Ok(Self::Json),
            "yaml" => Ok(Self::Yaml),
            "name" => Ok(Self::Name),
            _ => Err(FormatError::Unknown(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_kubectl_reads() {
        let cases = [
            ("", Format::Table),
            ("table", Format::Table),
            ("wide", Format::Wide),
            ("json", Format::Json),
            ("Json", Format::Json),
            ("YAML", Format::Yaml),
            ("name", Format::Name),
            ("jsonpath={.a=b}", Format::JsonPath("{.a=b}".to_owned())),
            ("jsonpath-as-json={.a}", Format::JsonPathAsJson("{.a}".to_owned())),
            ("jsonpath-file=a/b", Format::JsonPathFile("a/b".into())),
            ("custom-columns=A:.b,C:.d", Format::CustomColumns("A:.b,C:.d".to_owned())),
            ("custom-columns-file=x", Format::CustomColumnsFile("x".into())),
        ];
        for (text, expected) in cases {
            assert_eq!(text.parse(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn refuses_as_kubectl_refuses() {
        for text in ["foo", "json=x", "=x", "name=y", "JsonPath={.a}", "go-template={{.a}}"] {
            assert_eq!(text.parse::<Format>(), Err(FormatError::Unknown(text.to_owned())));
        }
        for text in ["jsonpath", "jsonpath=", "jsonpath-as-json", "jsonpath-file="] {
            assert_eq!(text.parse::<Format>(), Err(FormatError::NoTemplate), "{text}");
        }
        for text in ["custom-columns", "custom-columns=", "custom-columns-file"] {
            assert_eq!(text.parse::<Format>(), Err(FormatError::NoColumns), "{text}");
        }
        assert_eq!(
            FormatError::Unknown("foo".to_owned()).to_string(),
            "unable to match a printer suitable for the output format \"foo\", allowed formats are: \
             custom-columns,custom-columns-file,json,jsonpath,jsonpath-as-json,jsonpath-file,name,table,wide,yaml"
        );
    }

    #[test]
    fn every_name_is_accepted() {
        for name in ALLOWED.split(',') {
            let text = match name {
                "json" | "name" | "table" | "wide" | "yaml" => name.to_owned(),
                _ => format!("{name}=x"),
            };
            assert!(text.parse::<Format>().is_ok(), "{text}");
        }
    }
}
