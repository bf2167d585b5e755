//! What the user of a terminal of 80 columns sees.

use std::fs::{OpenOptions, create_dir_all, remove_file};
use std::io::Write;
use std::path::Path;

use crate::support::{Run, Scenario};

const COLUMNS: u16 = 80;

/// A screen, as it was shown.
pub(super) struct Screen(pub(super) String);

/// Runs the tool as the administrator of the scenario's cluster, at a terminal of 80 columns. Nothing may be written.
///
/// What it shows is kept in `target/tmp/incidents/<incident>.txt`, as it is: `audit`, which comes first, begins the
/// file, all others are appended. `incident` is a number of two digits and a name: `01-provisioner-killed`.
#[track_caller]
pub(super) fn screen(on: &Scenario, incident: &str, args: &[&str]) -> Screen {
    let before = on.cluster.mark();
    let (shown, code) = Run::of(args).kubeconfig(on.cluster.kubeconfig()).shown_at(COLUMNS);
    on.cluster.assert_no_write(before);
    on.cluster.assert_no_dry_run(before);
    keep(incident, args, &shown);
    assert_eq!(code, Some(0), "{shown}");
    for line in shown.lines() {
        // Commands and names are never broken: they are there to be copied.
        let name = line.split_whitespace().any(|word| word.len() > 50);
        let copied = name || line.trim_start().starts_with("kubectl ");
        assert!(copied || line.chars().count() <= usize::from(COLUMNS), "too wide: {line}");
    }
    Screen(shown)
}

fn keep(incident: &str, args: &[&str], shown: &str) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("incidents");
    create_dir_all(&folder).expect("because the folder of the build is writable");
    let first = args.first() == Some(&"audit");
    let file = folder.join(format!("{incident}.txt"));
    if first {
        // There is none at the first run.
        let _ = remove_file(&file);
    }
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(file)
        .expect("because the folder of the build is writable");
    writeln!(file, "$ kubectl storage {}\n{shown}", args.join(" "))
        .expect("because the disk has room");
}

impl Screen {
    /// Panics unless it shows all of these, wherever its lines are broken.
    #[track_caller]
    pub(super) fn says(&self, texts: &[&str]) -> &Self {
        let shown = unbroken(&self.0);
        for text in texts {
            assert!(shown.contains(&unbroken(text)), "does not say {text:?}:\n{}", self.0);
        }
        self
    }

    /// Panics when it shows any of these, wherever its lines are broken.
    #[track_caller]
    pub(super) fn never_says(&self, texts: &[&str]) -> &Self {
        let shown = unbroken(&self.0);
        for text in texts {
            assert!(!shown.contains(&unbroken(text)), "says {text:?}:\n{}", self.0);
        }
        self
    }

    /// How many of its lines contain this.
    pub(super) fn lines_with(&self, text: &str) -> usize {
        self.0.lines().filter(|line| line.contains(text)).count()
    }
}

/// A text without its line breaks and other space: names are broken anywhere.
fn unbroken(text: &str) -> String {
    text.split_whitespace().collect()
}
