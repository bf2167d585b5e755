//! What the deletion of a set does to its claims, shown before it is asked for.

use crate::{
    cli::{Failure, collect::Collected, terminal},
    model::{Cascade, ObjectRef, Settings, escape_control},
    output::report::wrap,
    remedies::delete_with_claims,
};

/// Shows on stderr what becomes of each claim when a set is deleted: what the plan rests on.
pub(in crate::cli) async fn show_deletion(
    collected: &mut Collected,
    settings: &Settings,
    object: &ObjectRef,
    cascade: Cascade,
) -> Result<(), Failure> {
    let foretold =
        collected.make(settings, |cx| delete_with_claims::foretell(cx, object, cascade)).await?;
    let lines = match foretold {
        Ok(lines) if lines.is_empty() => return Ok(()),
        Ok(lines) => lines,
        Err(unseen) => vec![format!("not read: {}: {}", unseen.kind.plural(), unseen.reason)],
    };
    let key = &object.key;
    terminal::note(&format!(
        "if {key} is deleted with --cascade={}:",
        cascade.policy().to_lowercase()
    ));
    let width = terminal::width().map_or(usize::MAX, usize::from);
    for line in lines {
        for part in wrap(&escape_control(&line), width) {
            terminal::note(&part);
        }
    }
    Ok(())
}
