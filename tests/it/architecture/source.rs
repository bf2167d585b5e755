//! Just enough of Rust's grammar to tell what a file imports.

/// A source file, as the checks see it.
pub(super) struct Source {
    /// The path from the package, such as `src/rules/volume/failed.rs`.
    pub path: String,
    /// The text as it is.
    pub text: String,
    /// The text without comments, texts and tests.
    pub code: String,
    /// How many lines are left without its tests.
    pub lines: usize,
}

impl Source {
    pub(super) fn new(path: &str, text: &str) -> Self {
        let blank = blank(text);
        let whole = is_test_file(path);
        let (code, tests) = if whole { (String::new(), 0) } else { without_tests(&blank) };
        let lines = if whole { 0 } else { text.lines().count() - tests };
        Self { path: path.to_owned(), text: text.to_owned(), code, lines }
    }

    /// The module that the file is: `["rules", "volume", "failed"]`.
    pub(super) fn module(&self) -> Vec<String> {
        let path = self.path.trim_start_matches("src/").trim_end_matches(".rs");
        let mut module: Vec<_> = path.split('/').map(str::to_owned).collect();
        if matches!(module.last().map(String::as_str), Some("mod" | "lib" | "main")) {
            module.pop();
        }
        module
    }

    /// The modules in files of their own that only tests are compiled with.
    pub(super) fn test_modules(&self) -> Vec<Vec<String>> {
        let lines: Vec<_> = self.text.lines().map(str::trim).collect();
        let of = |pair: &[&str]| {
            let name = pair[1].strip_prefix("mod ")?.strip_suffix(';')?;
            (pair[0] == "#[cfg(test)]").then(|| [self.module(), vec![name.to_owned()]].concat())
        };
        lines.windows(2).filter_map(of).collect()
    }

    /// The stage of the house that it belongs to.
    pub(super) fn stage(&self) -> String {
        self.module().into_iter().next().unwrap_or_default()
    }

    /// Every path in the code that begins with a name of the language's own: `crate`, `super`,
    /// `std`, or a foreign package, with groups taken apart and `crate` and `super` resolved.
    pub(super) fn paths(&self) -> Vec<Vec<String>> {
        let tokens = tokens(&self.code);
        let mut paths = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            let starts = tokens[at].starts_with(|c: char| c.is_alphabetic() || c == '_')
                && tokens.get(at + 1) == Some(&"::")
                && (at == 0 || tokens[at - 1] != "::");
            if starts {
                at = tree(&tokens, at, &[], &mut paths);
            } else {
                at += 1;
            }
        }
        paths.into_iter().map(|path| self.resolve(path)).collect()
    }

    /// Takes `crate`, `self` and `super` out of the beginning; what remains of them is a path from
    /// the package, marked by a leading `crate`.
    fn resolve(&self, path: Vec<String>) -> Vec<String> {
        let mut module = match path[0].as_str() {
            "crate" => Vec::new(),
            "self" | "super" => self.module(),
            _ => return path,
        };
        let mut rest = path.into_iter().peekable();
        while let Some(word) = rest.next_if(|it| matches!(&**it, "crate" | "self" | "super")) {
            if word == "super" {
                module.pop();
            }
        }
        ["crate".to_owned()].into_iter().chain(module).chain(rest).collect()
    }
}

fn is_test_file(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs")
}

/// Reads a path or a group of paths that starts at a token, and returns where it ends.
fn tree(tokens: &[&str], mut at: usize, before: &[String], paths: &mut Vec<Vec<String>>) -> usize {
    let mut path = before.to_vec();
    loop {
        match tokens.get(at) {
            Some(&"{") => {
                at += 1;
                while at < tokens.len() && tokens[at] != "}" {
                    at = if tokens[at] == "," { at + 1 } else { tree(tokens, at, &path, paths) };
                }
                return at + 1;
            }
            Some(word) if word.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '*') => {
                path.push((*word).to_owned());
                at += 1;
            }
            // Generic arguments and the like end a path; what is in them is read on its own.
            _ => {
                paths.push(path);
                return at.max(1);
            }
        }
        if tokens.get(at) == Some(&"::") {
            at += 1;
        } else {
            paths.push(path);
            // The other name of an import, and whatever else a group may hold.
            if tokens.get(at) == Some(&"as") {
                at += 2;
            }
            return at;
        }
    }
}

fn tokens(code: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let length = if word(first) {
            rest.find(|c| !word(c)).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        tokens.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    tokens
}

/// Blanks comments, texts and characters, and keeps lines where they are.
fn blank(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = literal(rest).unwrap_or(0);
        if length > 0 {
            out.extend(rest[..length].chars().map(|c| if c == '\n' { c } else { ' ' }));
            rest = &rest[length..];
        } else {
            out.push(first);
            rest = &rest[first.len_utf8()..];
            // An r that ends a word begins no raw text.
            let word = |c: char| c.is_alphanumeric() || c == '_';
            if word(first) {
                let end = rest.find(|c| !word(c)).unwrap_or(rest.len());
                let raw = first == 'b' && rest.starts_with(['"', 'r', '\'']);
                if !raw {
                    out.push_str(&rest[..end]);
                    rest = &rest[end..];
                }
            }
        }
    }
    out
}

/// The length of the comment, text or character that starts here.
fn literal(rest: &str) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return Some(rest.find("*/").map_or(rest.len(), |end| end + 2));
    }
    if let Some(raw) = rest.strip_prefix('r') {
        let marks = raw.len() - raw.trim_start_matches('#').len();
        if raw[marks..].starts_with('"') {
            let end = format!("\"{}", "#".repeat(marks));
            let body = &raw[marks + 1..];
            return Some(1 + marks + 1 + body.find(&end).map_or(body.len(), |at| at + end.len()));
        }
    }
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    if quote == '\'' {
        // A lifetime has no second quote near it.
        let mut chars = rest[1..].chars();
        let first = chars.next()?;
        if first != '\\' && chars.next() != Some('\'') {
            return None;
        }
    }
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return Some(at + 1),
            _ => {}
        }
    }
    Some(rest.len())
}

/// Takes out what only tests are compiled with; also returns how many lines that was.
fn without_tests(code: &str) -> (String, usize) {
    let mut kept = String::new();
    let mut rest = code;
    let mut lines = 0;
    while let Some(at) = rest.find("#[cfg(test)]") {
        kept.push_str(&rest[..at]);
        let item = &rest[at..];
        let open = item.find(['{', ';']).unwrap_or(item.len());
        let end = match item[open..].starts_with('{') {
            true => block(&item[open..]) + open,
            false => (open + 1).min(item.len()),
        };
        lines += item[..end].matches('\n').count() + 1;
        rest = &item[end..];
    }
    kept.push_str(rest);
    (kept, lines)
}

/// The length of a block in braces.
fn block(code: &str) -> usize {
    let mut depth = 0_usize;
    for (at, c) in code.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 1 => return at + 1,
            '}' => depth -= 1,
            _ => {}
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(path: &str, text: &str) -> Vec<String> {
        Source::new(path, text).paths().into_iter().map(|path| path.join("::")).collect()
    }

    #[test]
    fn groups_are_taken_apart_and_paths_resolved() {
        let text = "use crate::{a, b::{c, d::*}, e as f};\nfn x() -> super::Y { self::z::<crate::q::R>(std::fs::read) }";
        assert_eq!(
            paths("src/m/n.rs", text),
            [
                "crate::a",
                "crate::b::c",
                "crate::b::d::*",
                "crate::e",
                "crate::m::Y",
                "crate::m::n::z",
                "crate::q::R",
                "std::fs::read",
            ]
        );
    }

    #[test]
    fn comments_texts_and_tests_are_not_code() {
        let text = "// crate::a\nlet x = \"crate::b \\\" crate::c\"; let y = r#\"crate::d\"#; let q = '\"';\n\
                    fn f<'a>(x: &'a str) { crate::e::f() }\n#[cfg(test)]\nmod tests {\n    use crate::g;\n}\nuse crate::h;";
        let source = Source::new("src/m/mod.rs", text);
        let found: Vec<_> = source.paths().into_iter().map(|path| path.join("::")).collect();
        assert_eq!(found, ["crate::e::f", "crate::h"]);
        assert_eq!(source.lines, 4);
        assert_eq!(source.module(), ["m"]);
    }
}
