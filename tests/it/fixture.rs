//! Builds dumps from the fixtures in `tests/rules`.
//!
//! A fixture that is made up holds what its story turns on, in Kubernetes' own shape. This adds what Kubernetes always
//! sets: `tests/rules/defaults.yaml` says what, and `identity` what follows from other fields. Recorded fixtures are
//! taken as they are. The dumps are written to a folder below `target`, where they can be read.
//!
//! What a document may say besides the fields of its kind:
//! - `with: [a, b]`, in the `Excerpt` at the head: the documents of `tests/rules/background/a.yaml` and `b.yaml`.
//! - `volume: {…}`, in a claim: the volume that it is bound to, with what differs from the defaults.
//! - `claims: [a, b]`, in a pod or in what has a template for pods: claims that it mounts.
//! - `3d 2h ago`, for a time: counted from when the dump was taken.
//! - `uid: earlier`, or another word, in an object or a reference: a uid other than that of the object so named.
//! - `null`, for any field: it is not there, whatever the defaults say.

mod defaults;
mod fields;
mod identity;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Map, Value, json};

use crate::support::{files, read, root};
use defaults::DEFAULTS;

/// How the head of a fixture begins that is to be completed.
pub(crate) const MADE_UP: &str = "# Made up: ";

/// How the head of a fixture begins that `tests/real` recorded.
pub(crate) const RECORDED: &str = "# Recorded from Kubernetes v";

/// The fields of an object.
type Fields = Map<String, Value>;

/// The folder of the fixtures as they are written.
pub(crate) fn source() -> PathBuf {
    root().join("tests/rules")
}

/// The folder of the dumps that are built from them, under the same names.
#[track_caller]
pub(crate) fn folder() -> &'static Path {
    static FOLDER: LazyLock<Result<PathBuf, String>> = LazyLock::new(build_all);
    FOLDER.as_ref().unwrap_or_else(|errors| panic!("{errors}"))
}

/// Builds every fixture; returns the folder, or everything that is wrong.
fn build_all() -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rules");
    let mut errors = Vec::new();
    for path in files(&source(), ".yaml") {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if ["found", "clean"].iter().any(|prefix| name.starts_with(prefix)) {
            let file = path.strip_prefix(source()).expect("because it was found there");
            match build(&read(&path), &file.to_string_lossy()) {
                Ok(dump) => write(&folder.join(file), &dump),
                Err(error) => errors.push(error),
            }
        }
    }
    if errors.is_empty() { Ok(folder) } else { Err(errors.join("\n")) }
}

/// Writes a file that other tests may be reading.
fn write(path: &Path, text: &str) {
    if fs::read_to_string(path).is_ok_and(|found| found == text) {
        return;
    }
    let folder = path.parent().expect("because a file is in a folder");
    fs::create_dir_all(folder).expect("the folder can be created");
    let file = tempfile::NamedTempFile::new_in(folder).expect("a file can be created");
    fs::write(file.path(), text).expect("the file can be written");
    file.persist(path).expect("the file can be renamed");
}

/// Builds the dump that a fixture stands for; the error names the file and the line.
pub(crate) fn build(text: &str, file: &str) -> Result<String, String> {
    if text.starts_with(RECORDED) {
        return Ok(text.to_owned());
    }
    let head = text.lines().next().unwrap_or_default();
    if !head.starts_with(MADE_UP) {
        return Err(format!("{file}:1: begins neither with {RECORDED:?} nor with {MADE_UP:?}"));
    }
    let documents = Document::all(text, file)?;
    let (first, rest) = documents.split_first().expect("because a text has a first part");
    let mut excerpt = first.fields.clone();
    if first.kind() != "Excerpt" {
        return Err(first.error("kind:", "the first document is no Excerpt"));
    }
    let with = excerpt.remove("with").unwrap_or_else(|| json!([]));
    let mut objects = first.objects(excerpt, None)?;
    let taken = first.taken(&objects)?;
    let mut names = BTreeSet::new();
    let mut add = |document: &Document<'_>| {
        for object in document.objects(document.fields.clone(), Some(taken))? {
            let name = identity::name(&object);
            if object.contains_key("metadata") && !names.insert(name.clone()) {
                return Err(document.error("name:", &format!("{name} is here twice")));
            }
            objects.push(object);
        }
        Ok(())
    };
    for name in with.as_array().ok_or_else(|| first.error("with:", "with is no list"))? {
        let name = format!("background/{}.yaml", name.as_str().unwrap_or_default());
        let text = fs::read_to_string(source().join(&name))
            .map_err(|_| first.error("with:", &format!("there is no {name}")))?;
        Document::all(&text, &name)?.iter().try_for_each(&mut add)?;
    }
    rest.iter().try_for_each(&mut add)?;
    let mut dump = head.to_owned();
    for (place, object) in objects.iter().enumerate() {
        dump += if place == 0 { "\n" } else { "---\n" };
        dump += &serde_yaml::to_string(object).map_err(|error| format!("{file}: {error}"))?;
    }
    Ok(dump)
}

/// A document of a fixture, and where it stands.
struct Document<'a> {
    file: &'a str,
    /// The line before its first one.
    line: usize,
    text: String,
    fields: Fields,
}

impl<'a> Document<'a> {
    fn all(text: &str, file: &'a str) -> Result<Vec<Self>, String> {
        let (mut documents, mut line) = (Vec::new(), 0);
        for part in text.split("\n---\n") {
            let value = serde_yaml::from_str::<serde_yaml::Value>(part).map_err(|error| {
                let within = error.location().map_or(1, |place| place.line());
                format!("{file}:{}: {error}", line + within)
            })?;
            let value = serde_json::to_value(value).unwrap_or_default();
            let mut document = Self { file, line, text: part.to_owned(), fields: Map::new() };
            let Value::Object(fields) = value else {
                return Err(document.error("", "a document is a map of fields"));
            };
            document.fields = fields;
            line += part.lines().count() + 1;
            documents.push(document);
        }
        Ok(documents)
    }

    fn kind(&self) -> &str {
        self.fields.get("kind").and_then(Value::as_str).unwrap_or_default()
    }

    /// What is wrong, with the first line in which this stands as a word, or the first line of all.
    fn error(&self, word: &str, what: &str) -> String {
        let inside = |before: char| before.is_alphanumeric() || before == '/';
        let within = self.text.lines().position(|line| {
            let mut places = line.match_indices(word);
            !line.starts_with('#') && places.any(|(at, _)| !line[..at].ends_with(inside))
        });
        format!("{}:{}: {what}", self.file, self.line + within.unwrap_or(0) + 1)
    }

    /// When the dump was taken, as its first document says.
    fn taken(&self, objects: &[Fields]) -> Result<DateTime<Utc>, String> {
        let taken = objects.first().and_then(|it| it.get("metadata")?.get("takenAt")?.as_str());
        let taken = taken.unwrap_or_default();
        let parsed = DateTime::parse_from_rfc3339(taken);
        parsed.map(|it| it.to_utc()).map_err(|error| self.error("takenAt:", &error.to_string()))
    }

    /// The objects that it stands for: a claim may bring its volume.
    fn objects(
        &self,
        mut fields: Fields,
        taken: Option<DateTime<Utc>>,
    ) -> Result<Vec<Fields>, String> {
        let (kind, mut volume) = (self.kind().to_owned(), None);
        if kind == "PersistentVolumeClaim" && fields.contains_key("volume") {
            let Some(Value::Object(mut it)) = fields.remove("volume") else {
                return Err(self.error("volume:", "volume is a map of fields"));
            };
            identity::bind(&mut fields, &mut it);
            volume = Some(it);
        }
        if let Some(template) = pod_spec(&kind).filter(|_| fields.contains_key("claims")) {
            let claims = fields.remove("claims").unwrap_or_default();
            let claims = claims.as_array().and_then(|it| mounted(it));
            let claims =
                claims.ok_or_else(|| self.error("claims:", "claims is a list of names"))?;
            let volumes = entry(&mut fields, template).entry("volumes").or_insert(json!([]));
            let others = volumes.as_array().cloned().unwrap_or_default();
            *volumes = claims.into_iter().chain(others).collect();
        }
        let claim = self.complete(&kind, fields, taken)?;
        let Some(mut volume) = volume else { return Ok(vec![claim]) };
        identity::refer(&claim, &mut volume);
        Ok(vec![claim, self.complete("PersistentVolume", volume, taken)?])
    }

    /// An object with all that its document leaves out.
    fn complete(
        &self,
        kind: &str,
        mut fields: Fields,
        taken: Option<DateTime<Utc>>,
    ) -> Result<Fields, String> {
        if !DEFAULTS.knows(kind) {
            return Err(self.error("kind:", &format!("defaults.yaml knows no kind {kind:?}")));
        }
        fields.insert("kind".to_owned(), json!(kind));
        DEFAULTS.fill(kind, &mut fields);
        identity::complete(kind, &mut fields);
        let mut object = Value::Object(fields);
        if let Some(taken) = taken {
            date(&mut object, taken).map_err(|(age, what)| self.error(&age, &what))?;
        }
        drop_nulls(&mut object);
        fields::check(kind, &object).map_err(|(word, what)| self.error(&word, &what))?;
        match object {
            Value::Object(fields) => Ok(fields),
            _ => Err(self.error("", "nothing is left of it")),
        }
    }
}

/// Where a kind says what its pods are like.
fn pod_spec(kind: &str) -> Option<&'static [&'static str]> {
    match kind {
        "Pod" => Some(&["spec"]),
        "StatefulSet" | "Deployment" | "ReplicaSet" | "DaemonSet" | "Job" => {
            Some(&["spec", "template", "spec"])
        }
        _ => None,
    }
}

/// The volumes of a pod that mounts these claims.
fn mounted(claims: &[Value]) -> Option<Vec<Value>> {
    let volume = |name: &Value| {
        let name = name.as_str()?;
        Some(json!({"name": name, "persistentVolumeClaim": {"claimName": name}}))
    };
    claims.iter().map(volume).collect()
}

/// The map of fields at a path, made where there is none.
fn entry<'a>(fields: &'a mut Fields, path: &[&str]) -> &'a mut Fields {
    let Some((first, rest)) = path.split_first() else { return fields };
    let value = fields.entry(*first).or_insert_with(|| json!({}));
    if !value.is_object() {
        *value = json!({});
    }
    match value {
        Value::Object(fields) => entry(fields, rest),
        _ => unreachable!("because it was made one"),
    }
}

/// Replaces every `3d ago` by the time that it means.
fn date(value: &mut Value, taken: DateTime<Utc>) -> Result<(), (String, String)> {
    match value {
        Value::Object(fields) => fields.values_mut().try_for_each(|it| date(it, taken)),
        Value::Array(items) => items.iter_mut().try_for_each(|it| date(it, taken)),
        Value::String(text) => {
            let age =
                text.strip_suffix(" ago").filter(|it| it.starts_with(|c: char| c.is_ascii_digit()));
            let Some(age) = age else { return Ok(()) };
            let age = humantime::parse_duration(age)
                .map_err(|error| (text.clone(), error.to_string()))?;
            *text = (taken - age).to_rfc3339_opts(SecondsFormat::Secs, true);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Removes what is `null`, and maps of which nothing else is left.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let emptied = |value: &mut Value| {
                let before = value.as_object().is_some_and(|it| !it.is_empty());
                drop_nulls(value);
                before && value.as_object().is_some_and(Map::is_empty)
            };
            fields.retain(|_, value| !value.is_null() && !emptied(value));
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}
