//! Finalizers of others: one, of one object that was named, by its name. No controller runs.

use serde_json::json;

use super::{Admin, STILL, because, finalizers, fix, hang, left, one_removal};
use crate::support::{Scenario, claim};

const BACKUP: &str = "example.com/backup";
const MIRROR: &str = "storage.example.com/mirror";

#[test]
fn a_foreign_finalizer_goes_by_its_name_alone() {
    let on = Scenario::on(&STILL);
    let name = on.named("pv");
    let object = hang(&on, &left(&on, "pv"), &[MIRROR, BACKUP]);
    let other = hang(&on, &left(&on, "other"), &[BACKUP]);
    let admin = Admin::of(&on);
    let remove = ["--remove-finalizer", BACKUP];
    // Without its name it is nobody's business.
    because(&admin.refused(5, &fix(&[&object, "--yes"])), &name, &["--remove-finalizer"]);
    let told = admin.refused(0, &fix(&["-n", &on.name, "--yes"]));
    assert_eq!(told.changes(), [""; 0], "{:#}", told.json);
    // With it, it takes exactly one object.
    for objects in [&[][..], &[&*object, &*other], &["-n", &*on.name]] {
        let told = admin.refused(2, &fix(&[objects, &remove, &["--yes"]].concat()));
        told.says(&["--remove-finalizer"]);
    }
    // Nobody is there to type the name.
    admin.refused(5, &fix(&[&[&*object][..], &remove].concat())).says(&["not a terminal"]);
    for missing in ["example.com/none", "backup", "example.com/backu"] {
        let told = admin.refused(5, &fix(&[&object, "--yes", "--remove-finalizer", missing]));
        because(&told, &name, &[missing]);
    }
    admin.refused(2, &fix(&[&object, "--yes", "--remove-finalizer", ""]));

    let (before, mark) = (on.read(&object), on.cluster.mark());
    let told = admin.run(&fix(&[&[&*object, "--yes"][..], &remove].concat())).ends(0);
    assert_eq!(told.outcomes("done"), [&*name], "{:#}", told.json);
    one_removal(&admin, mark, "persistentvolumes", &before, BACKUP);
    assert_eq!(finalizers(&on, &object), [MIRROR]);
    assert_eq!(finalizers(&on, &other), [BACKUP]);
}

/// At a terminal, the name of a third-party finalizer has to be typed again.
#[test]
#[ignore = "extended suite: further cases"]
fn a_foreign_finalizer_is_typed_once_more() {
    let on = Scenario::on(&STILL);
    let (admin, name) = (Admin::of(&on), on.named("pv"));
    let object = hang(&on, &left(&on, "pv"), &[MIRROR, BACKUP]);
    let args = fix(&[&object, "--remove-finalizer", BACKUP]);
    let question = format!("Type `{BACKUP}` to remove it");
    let (before, mark) = (on.read(&object), on.cluster.mark());
    for typed in ["", "y", "yes", MIRROR, &name, "example.com/backu", "example.com/backup2"] {
        let mut terminal = admin.at_terminal(&args);
        terminal.answer(&question, &format!("{typed}\r"));
        let (screen, code) = terminal.finish();
        assert!(screen.contains("not confirmed: nothing was changed"), "{typed:?}: {screen}");
        assert_eq!(code, Some(5), "{typed:?}: {screen}");
    }
    // The question after it still needs a yes.
    let mut terminal = admin.at_terminal(&args);
    terminal.answer(&question, &format!("{BACKUP}\r"));
    terminal.answer("Repair 1 volume", "n");
    assert_eq!(terminal.finish().1, Some(5));
    assert_eq!(super::lines(&admin.sent(mark)), [""; 0]);

    let mut terminal = admin.at_terminal(&args);
    terminal.answer(&question, &format!("{BACKUP}\r"));
    terminal.answer("Repair 1 volume", "y");
    let (screen, code) = terminal.finish();
    assert_eq!(code, Some(0), "{screen}");
    one_removal(&admin, mark, "persistentvolumes", &before, BACKUP);
    assert_eq!(finalizers(&on, &object), [MIRROR]);
}

/// Of what Kubernetes' own controllers set, the name is no way around the checks.
#[test]
fn a_known_finalizer_is_no_foreign_one() {
    let on = Scenario::on(&STILL);
    let (admin, name) = (Admin::of(&on), on.named("pv"));
    let known = [
        super::EXTERNAL,
        super::IN_TREE,
        super::PV_PROTECTION,
        "external-attacher/gone-csi-example",
    ];
    let object = hang(&on, &left(&on, "pv").policy("Delete"), &known);
    for finalizer in known {
        let told = admin.refused(5, &fix(&[&object, "--yes", "--remove-finalizer", finalizer]));
        assert!(!told.reason(&name).is_empty());
    }
    assert_eq!(finalizers(&on, &object), known);
}

/// The last finalizer of a Terminating volume lets the object go: what it named is not lost.
#[test]
fn the_last_foreign_finalizer_asks_what_becomes_of_the_backend() {
    let on = Scenario::on(&STILL);
    let (admin, name) = (Admin::of(&on), on.named("pv"));
    let object = hang(&on, &left(&on, "pv").policy("Delete"), &[BACKUP]);
    let args = fix(&[&object, "--yes", "--remove-finalizer", BACKUP]);
    because(&admin.refused(5, &args), &name, &["--accept-leak"]);
    let told = admin.run(&[&args[..], &["--accept-leak"]].concat()).ends(0);
    assert_eq!(told.outcomes("done"), [&*name], "{:#}", told.json);
    on.wait_gone(&object);
    let report = admin.audit(&[]);
    let kept = report.findings().filter(|it| it.id() == "journal-kept-backend");
    assert!(kept.into_iter().any(|it| it.0.to_string().contains(&name)), "{report}");
}

/// Of claims and attachments too; and only after whoever set it had its time.
#[test]
fn claims_and_attachments_are_let_go_by_name() {
    let on = Scenario::on(&STILL);
    let (admin, held) = (Admin::of(&on), on.named("held"));
    let mut data = claim("data", "");
    data["metadata"]["finalizers"] = json!([BACKUP]);
    on.create(&data);
    super::set_finalizers(&on, "pvc/data", &[BACKUP]);
    on.create(&json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
        "metadata": {"name": held, "finalizers": [BACKUP]},
        "spec": {"attacher": super::GONE, "nodeName": "none", "source": {"persistentVolumeName": "none"}},
    }));
    let attachment = format!("volumeattachment/{held}");
    for object in ["pvc/data", &attachment] {
        on.delete(object);
    }
    super::grow_old();
    for (object, name, plural) in [
        ("pvc/data", "data", "persistentvolumeclaims"),
        (&*attachment, &*held, "volumeattachments"),
    ] {
        let named = ["fix-finalizers", object, "-n", &*on.name, "--yes"];
        let by_name = [&named[..], &["--remove-finalizer", BACKUP]].concat();
        // Whoever set it may still be at work.
        because(&admin.refused(5, &by_name), name, &[BACKUP]);
        let (before, mark) = (on.read(object), on.cluster.mark());
        let told = admin.run(&[&by_name[..], &["--threshold", "stuck=1s"]].concat()).ends(0);
        assert_eq!(told.outcomes("done"), [name], "{:#}", told.json);
        one_removal(&admin, mark, plural, &before, BACKUP);
        assert!(on.get(object).is_none(), "{object}");
    }
}
