//! The command that changes the uid in a claimRef. It is only shown: whoever runs it decides who
//! reads the data.

use super::{is_plain_word, on_command_line};
use crate::model::{ReclaimPolicy, Volume};

/// Returns the command that writes a uid into the claimRef of a volume, or removes it. It fails if
/// the volume is another one by then, or if anything of it has changed. `None` if a name or uid is
/// missing, or cannot stand in a command.
pub fn claim_ref_patch(volume: &Volume, uid: Option<&str>) -> Option<String> {
    let claim_ref = volume.claim_ref.as_ref()?;
    let old = claim_ref.uid.as_ref().map(ToString::to_string);
    let volume_uid = volume.metadata.uid.as_ref()?.to_string();
    let mut tests = vec![
        ("/metadata/uid", &*volume_uid),
        ("/metadata/resourceVersion", &*volume.metadata.resource_version),
        ("/spec/claimRef/namespace", &*claim_ref.key.namespace),
        ("/spec/claimRef/name", &*claim_ref.key.name),
    ];
    tests.extend(old.as_deref().map(|old| ("/spec/claimRef/uid", old)));
    let words = tests.iter().map(|(_, word)| *word).chain(uid).chain([volume.name()]);
    if !words.into_iter().all(is_plain_word) {
        return None;
    }
    let test = |(path, value): &(&str, &str)| {
        format!(r#"{{"op":"test","path":"{path}","value":"{value}"}}"#)
    };
    let mut patch: Vec<_> = tests.iter().map(test).collect();
    patch.push(match uid {
        Some(uid) => format!(r#"{{"op":"add","path":"/spec/claimRef/uid","value":"{uid}"}}"#),
        None => r#"{"op":"remove","path":"/spec/claimRef/uid"}"#.to_owned(),
    });
    Some(format!("kubectl patch pv {} --type=json -p '[{}]'", volume.name(), patch.join(",")))
}

/// What lets a recreated claim bind the volume of its predecessor: the one advice of all findings
/// about the two.
pub(crate) fn rebinding_advice(volume: &Volume) -> String {
    let pv = volume.object();
    let first = match volume.reclaim_policy {
        ReclaimPolicy::Retain => String::new(),
        ReclaimPolicy::Delete | ReclaimPolicy::Recycle | ReclaimPolicy::Other(_) => {
            format!("run `kubectl storage retain {}` first; ", on_command_line(&pv))
        }
    };
    let clear = claim_ref_patch(volume, None).map_or_else(
        || format!("clear spec.claimRef.uid of {pv}"),
        |it| format!("clear spec.claimRef.uid: `{it}`"),
    );
    format!("{first}decide whether this claim may read the old data; then {clear}")
}
