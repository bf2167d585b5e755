//! The two forms that a made-up cluster is written in.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
};

use serde::Serialize;
use serde_json::{Value, json, ser::PrettyFormatter};

use super::{Made, Population};

/// Writes a list as `kubectl get … -A -o json --show-managed-fields` does, or `-o yaml`.
pub fn write_list(population: &Population, yaml: bool, out: &mut dyn Write) -> io::Result<usize> {
    let mut count = 0;
    out.write_all(if yaml {
        b"apiVersion: v1\nitems:"
    } else {
        b"{\n    \"apiVersion\": \"v1\",\n    \"items\": ["
    })?;
    for mut made in population.objects() {
        made.object["metadata"]["resourceVersion"] = (1_000_000 + count).to_string().into();
        let text = if yaml { as_yaml(&made.object)? } else { as_json(&made.object)? };
        for (number, line) in text.lines().enumerate() {
            let start: &str = match (yaml, number, count) {
                (true, 0, _) => "\n- ",
                (true, _, _) => "\n  ",
                (false, 0, 0) => "\n        ",
                (false, 0, _) => ",\n        ",
                (false, _, _) => "\n        ",
            };
            out.write_all(start.as_bytes())?;
            out.write_all(line.as_bytes())?;
        }
        count += 1;
    }
    out.write_all(if yaml {
        b"\nkind: List\nmetadata:\n  resourceVersion: \"\"\n"
    } else {
        b"\n    ],\n    \"kind\": \"List\",\n    \"metadata\": {\n        \"resourceVersion\": \"\"\n    }\n}\n"
    })?;
    Ok(count)
}

fn as_json(object: &Value) -> io::Result<String> {
    let mut text = Vec::with_capacity(8192);
    let formatter = PrettyFormatter::with_indent(b"    ");
    object.serialize(&mut serde_json::Serializer::with_formatter(&mut text, formatter))?;
    String::from_utf8(text).map_err(io::Error::other)
}

fn as_yaml(object: &Value) -> io::Result<String> {
    serde_yaml::to_string(object).map_err(io::Error::other)
}

/// Writes what the testbed's supervisor loads into etcd: `{"key": …, "value": …}` lines.
pub fn write_seed(population: &Population, out: &mut dyn Write) -> io::Result<usize> {
    let mut count = 0;
    for Made { registry, object } in
        population.objects().chain([population.secret()]).chain(population.permissions())
    {
        let metadata = &object["metadata"];
        let name = metadata["name"].as_str().unwrap_or_default();
        let key = match metadata["namespace"].as_str() {
            Some(namespace) => format!("/registry/{registry}/{namespace}/{name}"),
            None => format!("/registry/{registry}/{name}"),
        };
        serde_json::to_writer(&mut *out, &json!({ "key": key, "value": object }))?;
        out.write_all(b"\n")?;
        count += 1;
    }
    Ok(count)
}

/// The same to a file.
pub fn write_seed_file(population: &Population, path: &Path) -> io::Result<usize> {
    let mut out = BufWriter::new(File::create(path)?);
    let count = write_seed(population, &mut out)?;
    out.flush()?;
    Ok(count)
}

/// Writes objects to a file, one a line.
pub fn write_objects(made: impl Iterator<Item = Made>, path: &Path) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    for Made { object, .. } in made {
        serde_json::to_writer(&mut out, &object)?;
        out.write_all(b"\n")?;
    }
    out.flush()
}
