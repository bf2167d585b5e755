//! Hands the same documents over in every form: files, standard input, folders, gzip, tar.

use std::{fs, io::Write as _};

use flate2::{Compression, write::GzEncoder};

use super::*;

/// How documents are handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Each as a file that is named.
    Files,
    /// One after the other on standard input.
    Stdin,
    /// The same, packed.
    Gzip,
    Folder,
    Tar,
    TarGzip,
}

impl Form {
    pub(super) const ALL: [Self; 6] =
        [Self::Files, Self::Stdin, Self::Gzip, Self::Folder, Self::Tar, Self::TarGzip];
    /// Those in which files are found, and not named.
    pub(super) const FOUND: [Self; 3] = [Self::Folder, Self::Tar, Self::TarGzip];
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(bytes).expect("because memory takes all bytes");
    gzip.finish().expect("because memory takes all bytes")
}

fn tar(files: &[(&str, String)]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (path, text) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        let added = tar.append_data(&mut header, path, text.as_bytes());
        added.expect("because memory takes all bytes");
    }
    tar.into_inner().expect("because memory takes all bytes")
}

/// Reads files in a form; the kinds that matter are all that are listed.
pub(super) fn read_as(
    form: Form,
    files: &[(&str, String)],
    complete: &[Kind],
) -> Result<(Intake, DumpNotes), DumpError> {
    let folder = tempfile::tempdir().expect("a folder");
    let is_yaml =
        files.iter().any(|(name, _)| Path::new(name).extension() == Some("yaml".as_ref()));
    let texts: Vec<_> = files.iter().map(|(_, text)| text.as_str()).collect();
    let joined = texts.join(if is_yaml { "\n---\n" } else { "\n" });
    let (mut inputs, mut stdin) = (vec![Input::Stdin], Vec::new());
    match form {
        Form::Stdin => stdin = joined.into_bytes(),
        Form::Gzip => stdin = gzip(joined.as_bytes()),
        Form::Tar => stdin = tar(files),
        Form::TarGzip => stdin = gzip(&tar(files)),
        Form::Files | Form::Folder => {
            inputs.clear();
            for (name, text) in files {
                let path = folder.path().join(name);
                let parent = path.parent().expect("because it was joined");
                fs::create_dir_all(parent).expect("because there is room");
                fs::write(&path, text).expect("because there is room");
                inputs.push(Input::Path(path));
            }
            if form == Form::Folder {
                inputs = vec![Input::Path(folder.path().to_owned())];
            }
        }
    }
    let options = DumpOptions {
        kinds: Kind::ALL.into_iter().filter(|kind| kind.is_listed()).collect(),
        complete: complete.iter().copied().collect(),
        ..DumpOptions::default()
    };
    let mut intake = Intake::new(None);
    let notes = read(&inputs, &mut &stdin[..], &options, &mut intake)?;
    Ok((intake, notes))
}

/// Why a kind was not seen; `None` if it was, in all namespaces.
pub(super) fn gap(intake: &Intake, kind: Kind) -> Option<String> {
    intake.cluster.reach(kind, None).err().map(|unseen| unseen.reason)
}

/// Whether a kind was seen in a namespace.
pub(super) fn is_seen_in(intake: &Intake, kind: Kind, namespace: &str) -> bool {
    intake.cluster.reach(kind, Some(&namespace.into())).is_ok()
}

/// An object.
pub(super) fn object(
    api_version: &str,
    kind: &str,
    namespace: &str,
    name: &str,
) -> serde_json::Value {
    // What every object of any kind has: nobody has cut it.
    let template = serde_json::json!({"spec": {"containers": [{"image": "i"}]}});
    let mut object = serde_json::json!({
        "apiVersion": api_version, "kind": kind, "metadata": {"name": name},
        "provisioner": "p", "driver": "d", "driverName": "d",
        "spec": {"accessModes": ["ReadWriteOnce"], "attacher": "d", "driver": "d", "replicas": 1,
            "containers": [{"image": "i"}], "template": template,
            "scaleTargetRef": {"kind": "Deployment", "name": "d"},
            "jobTemplate": {"spec": {"template": template}}}});
    if !namespace.is_empty() {
        object["metadata"]["namespace"] = namespace.into();
    }
    object
}

/// A list as kubectl writes it, in JSON.
pub(super) fn list(kind: &str, items: &[serde_json::Value]) -> serde_json::Value {
    let metadata = serde_json::json!({"resourceVersion": ""});
    serde_json::json!({"apiVersion": "v1", "items": items, "kind": kind, "metadata": metadata})
}

/// A document as a JSON file and as a YAML file.
pub(super) fn both(document: &serde_json::Value) -> [(&'static str, String); 2] {
    let yaml = serde_yaml::to_string(document).expect("because JSON is YAML");
    [("json", format!("{document:#}\n")), ("yaml", yaml)]
}
