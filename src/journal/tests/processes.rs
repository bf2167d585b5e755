//! Several processes: the test binary starts itself with a task in its environment.

use std::{
    env,
    io::{BufRead as _, BufReader, Read as _},
    process::{Child, Command, Stdio},
    thread,
};

use super::*;
use crate::journal::JournalError;

const TASK: &str = "KUBECTL_STORAGE_TEST_TASK";
const FOLDER: &str = "KUBECTL_STORAGE_TEST_FOLDER";
/// How many entries each thread and each process appends.
const EACH: usize = 200;
/// The word with which a child prints the sequence of its entry.
const TOLD: &str = "appended ";

/// Returns the command that runs the task of a child in this test binary.
fn child(program: Command, task: &str, folder: &Path) -> Command {
    let mut child = program;
    child.args(["--exact", "journal::tests::processes::a_child_does_its_task", "--nocapture"]);
    child.env(TASK, task).env(FOLDER, folder);
    child.stdin(Stdio::null()).stdout(Stdio::piped());
    child
}

fn start(task: &str, folder: &Path) -> Child {
    let program = Command::new(env::current_exe().expect("this one"));
    child(program, task, folder).spawn().expect("it runs now")
}

#[expect(clippy::disallowed_macros, reason = "how a child talks to its parent")]
fn append(folder: &Path, run: &str, count: usize) {
    let log = Log::open(folder).expect("writable");
    for number in 0..count {
        let sequence = log.begin(run, None, &keep(&format!("{run}-{number}"))).expect("room");
        println!("{TOLD}{sequence}");
        if number % 4 == 0 {
            log.end(sequence, None, Outcome::Done, "").expect("room");
        }
    }
}

/// Does nothing, unless a test below has started it.
#[test]
fn a_child_does_its_task() {
    let (Ok(task), Some(folder)) = (env::var(TASK), env::var_os(FOLDER)) else { return };
    let folder = Path::new(&folder);
    match &*task {
        "append" => append(folder, &format!("process {}", std::process::id()), EACH),
        "append for ever" => append(folder, &format!("process {}", std::process::id()), usize::MAX),
        "fill the disk" => fill_the_disk(folder),
        "find no room" => {
            let error = Log::open(folder).expect_err("there is no room");
            assert!(matches!(error, JournalError::Unwritable { .. }), "{error}");
            assert!(error.to_string().starts_with("nothing was sent: "), "{error}");
            assert_eq!(fs::read_dir(folder).expect("readable").count(), 1, "the probe stayed");
        }
        other => panic!("what is {other}?"),
    }
}

fn fill_the_disk(folder: &Path) {
    let log = Log::open(folder).expect("there is a little room");
    let before = bytes(folder);
    let large = Intent { pre_image: Some("x".repeat(300_000).into()), ..keep("large") };
    let error = log.begin("run", None, &large).expect_err("there is not that much room");
    assert!(matches!(error, JournalError::Unwritable { .. }), "{error}");
    assert!(error.to_string().starts_with("nothing was sent: "), "{error}");
    assert_eq!(bytes(folder), before, "a part of a line was left");
    let error = log.end(1, None, Outcome::Done, &"x".repeat(300_000)).expect_err("nor for that");
    assert!(error.to_string().starts_with("how entry 1 ended is not recorded"), "{error}");
    assert_eq!(bytes(folder), before, "a part of a line was left");
    assert_eq!(log.begin("run", None, &keep("short")).expect("there is room for it"), 2);
}

#[test]
fn threads_and_processes_that_append_at_once_make_one_chain() {
    let folder = tempfile::tempdir().expect("a folder");
    let children = [(); 2].map(|()| start("append", folder.path()));
    // One log for both threads, as `apply` has it.
    let log = Log::open(folder.path()).expect("writable");
    thread::scope(|scope| {
        for run in ["first thread", "second thread"] {
            let log = &log;
            scope.spawn(move || {
                for number in 0..EACH {
                    let intent = keep(&format!("{run}-{number}"));
                    let sequence = log.begin(run, None, &intent).expect("room");
                    if number % 4 == 0 {
                        log.end(sequence, None, Outcome::Done, "").expect("room");
                    }
                }
            });
        }
    });
    for child in children {
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    let history = read(folder.path());
    assert_eq!(history.notes, [""; 0]);
    assert_eq!(history.entries.len(), 4 * EACH);
    assert_eq!(history.open().count(), 4 * EACH * 3 / 4);
    let lines = memchr::memchr_iter(b'\n', &bytes(folder.path())).count();
    assert_eq!(lines, 5 * EACH);
    let sequences = sequences(&history.entries);
    assert!(sequences.is_sorted_by(|a, b| a < b), "a sequence was given twice");
    // All entries of each run, in its order.
    let mut runs = std::collections::BTreeMap::<_, Vec<_>>::new();
    for entry in &history.entries {
        runs.entry(&entry.run).or_default().push(&*entry.intent.object.key.name);
    }
    assert_eq!(runs.len(), 4);
    for (run, names) in runs {
        let expected: Vec<_> = (0..EACH).map(|number| format!("{run}-{number}")).collect();
        assert_eq!(names, expected);
    }
}

#[cfg(unix)]
#[test]
fn a_killed_run_loses_nothing_that_it_was_told_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut told = Vec::new();
    for round in 0..25 {
        let mut child = start("append for ever", folder.path());
        let mut output = BufReader::new(child.stdout.take().expect("because it is piped"));
        let mut text = String::new();
        // It appends until it is killed.
        while text.matches(TOLD).count() <= round % 7 {
            assert!(output.read_line(&mut text).expect("text") > 0, "it ended: {text}");
        }
        child.kill().expect("it is alive: nothing else ends it");
        child.wait().expect("it is dead");
        output.read_to_string(&mut text).expect("text");
        // The last line of its output may be torn as well.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let sequences =
            whole.lines().filter_map(|line| line.split_once(TOLD)?.1.parse::<u64>().ok());
        told.extend(sequences);

        let history = read(folder.path());
        let missing: Vec<_> =
            told.iter().filter(|sequence| history.entry(**sequence).is_none()).collect();
        assert!(missing.is_empty(), "{missing:?} were written and are not there");
        let harmless = |it: &String| it.contains("is torn") || it.contains("lacks its line break");
        assert!(history.notes.iter().all(harmless), "{:?}", history.notes);
    }
    assert!(told.len() > 25 * 3);
    write(folder.path(), &[(keep("after"), &[Outcome::Done])]);
    let history = read(folder.path());
    assert_eq!(history.entries.last().map(|it| &*it.run), Some("run"));
    assert!(!history.notes.iter().any(|note| note.contains("edited")), "{:?}", history.notes);
}

#[cfg(unix)]
#[test]
fn a_full_disk_leaves_no_part_of_a_line() {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), &[(keep("one"), &[])]);
    // In blocks of 512 or 1024 bytes, as the shell counts: enough for the probe, too little for the
    // long line.
    for (blocks, task) in [(1, "find no room"), (128, "fill the disk")] {
        let script = format!("ulimit -f {blocks}; trap '' XFSZ; exec \"$0\" \"$@\"");
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]).arg(env::current_exe().expect("this one"));
        let output = child(shell, task, folder.path()).output().expect("a shell");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{task}: {text}");
        assert!(text.contains("1 passed"), "{task}: {text}");
    }
    let history = read(folder.path());
    assert_eq!((sequences(&history.entries), history.notes), (vec![1, 2], Vec::new()));
}
