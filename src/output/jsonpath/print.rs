//! Prints values: as text, as JSON, and as Go's `fmt` does.

use std::io;

use serde::Serialize;
use serde_json::ser::PrettyFormatter;
use serde_json::{Number, Value};

use super::RenderError;

/// Writes results side by side: scalars as they are, lists and objects as compact JSON.
pub(super) fn as_text(results: &[&Value], out: &mut dyn io::Write) -> Result<(), RenderError> {
    for (place, result) in results.iter().enumerate() {
        if place > 0 {
            out.write_all(b" ")?;
        }
        match result {
            Value::String(text) => out.write_all(text.as_bytes())?,
            Value::Number(number) => out.write_all(go_number(number).as_bytes())?,
            other => serde_json::to_writer(&mut *out, other).map_err(io::Error::from)?,
        }
    }
    Ok(())
}

/// Writes results as one indented list.
pub(super) fn as_json(results: &[&Value], out: &mut dyn io::Write) -> Result<(), RenderError> {
    let mut serializer =
        serde_json::Serializer::with_formatter(&mut *out, PrettyFormatter::with_indent(b"    "));
    results.serialize(&mut serializer).map_err(io::Error::from)?;
    out.write_all(b"\n")?;
    Ok(())
}

/// Returns a value as Go's `%v` shows it, which is what kubectl puts into a custom column.
pub(in crate::output) fn go_text(value: &Value) -> String {
    let spaced = |parts: Vec<String>| parts.join(" ");
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(truth) => truth.to_string(),
        Value::Number(number) => go_number(number),
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", spaced(items.iter().map(go_text).collect())),
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            let shown =
                fields.into_iter().map(|(name, value)| format!("{name}:{}", go_text(value)));
            format!("map[{}]", spaced(shown.collect()))
        }
    }
}

/// Returns a number as Go prints it: integers plainly, very large or small fractions with an exponent of two digits.
fn go_number(number: &Number) -> String {
    let Some(fraction) = number.as_f64().filter(|_| number.is_f64()) else {
        return number.to_string();
    };
    let scientific = format!("{fraction:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..6).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.abs())
        }
        _ => fraction.to_string(),
    }
}
