//! Pipes: closed early, and far longer than memory.

use std::{
    collections::BTreeMap,
    fs,
    io::{Read as _, Write},
    thread,
};

use crate::{fixture, support::Call};

/// What the child may need of memory, however much comes through the pipe.
const MOST_MEMORY_KIB: u64 = 100 * 1024;
/// How much comes through it.
const DUMP_MIB: usize = 300;

fn fixture() -> String {
    let path = fixture::folder().join("pv-released-past-threshold/found-verdicts.yaml");
    path.to_string_lossy().into_owned()
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    for output in ["table", "wide", "json", "yaml", "name", "jsonpath={.findings}"] {
        for taken in [0, 1, 70] {
            let mut child = Call::new(["audit", "-f", &fixture(), "-o", output])
                .command()
                .spawn()
                .expect("the binary runs");
            drop(child.stdin.take());
            let mut stdout = child.stdout.take().expect("because it is piped");
            let mut read = vec![0; taken];
            stdout.read_exact(&mut read).expect("there is as much");
            drop(stdout);
            let mut stderr = String::new();
            let mut err = child.stderr.take().expect("because it is piped");
            err.read_to_string(&mut stderr).expect("stderr can be read");
            let status = child.wait().expect("it ends");
            assert_eq!(status.code(), Some(0), "-o {output}: {stderr}");
            for word in ["panicked", "roken pipe", "error"] {
                assert!(!stderr.contains(word), "-o {output}: {stderr}");
            }
        }
    }
}

/// Whoever asks for colours in a pipe gets what a terminal shows, as wide as `COLUMNS` says.
#[test]
fn colours_in_a_pipe_are_those_of_a_terminal() {
    for (color, columns, width) in [("always", "70", 70), ("always", "", 80), ("never", "70", 0)] {
        let args = ["audit", "-f", &fixture(), "--severity", "critical", "--color", color];
        let env = BTreeMap::from([("COLUMNS".to_owned(), columns.to_owned())]);
        let ran = Call { env, ..Call::new(args) }.run();
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert_eq!(ran.stdout.contains('\u{1b}'), width > 0, "{color}: {}", ran.stdout);
        let plain = ran.stdout.replace("\u{1b}[0m", "").replace("\u{1b}[1m", "");
        let widest = plain.lines().filter(|it| !it.contains('\u{1b}')).map(|it| it.chars().count());
        let widest = widest.max().unwrap_or_default();
        assert_eq!(widest <= width, width > 0, "{color}: {widest} columns\n{}", ran.stdout);
    }
}

/// What names the volumes of a cluster is for its owner alone, whatever a file of that name was before.
#[test]
#[cfg(unix)]
fn dumps_and_plans_are_for_their_owner_alone() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    let folder = tempfile::tempdir().expect("the temporary folder is writable");
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (saved, plan) = (at("saved.json.gz"), at("plan.yaml"));
    fs::write(&plan, "old").expect("it is writable");
    fs::set_permissions(&plan, fs::Permissions::from_mode(0o644)).expect("it is ours");
    for args in [
        &["dump", &saved, "-f", &fixture()][..],
        &["gc", "-f", &fixture(), "--older-than", "7d", "--plan-out", &plan],
    ] {
        let ran = Call::new(args.iter().copied()).run();
        assert!(matches!(ran.code, Some(0 | 4)), "{args:?}: {}", ran.stderr);
    }
    for path in [&saved, &plan] {
        let found = fs::metadata(path).expect("it was written");
        assert_eq!(found.mode() & 0o777, 0o600, "{path}");
    }
    let left: Vec<_> = fs::read_dir(folder.path()).expect("readable").flatten().collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn nobody_reads_anything() {
    for args in [&["--help"][..], &["explain"], &["audit", "--nonsense"], &["version"]] {
        let mut child = Call::new(args.iter().copied()).command().spawn().expect("it runs");
        drop((child.stdin.take(), child.stdout.take(), child.stderr.take()));
        let code = child.wait().expect("it ends").code();
        assert!(matches!(code, Some(0 | 2)), "{args:?}: {code:?}");
    }
}

/// Writes a list of pods that use claims, each with as much as a real one carries.
fn write_dump(out: &mut dyn Write, bytes: usize) -> std::io::Result<usize> {
    let padding = "x".repeat(6000);
    let (mut written, mut count) = (0, 0);
    write!(out, "{{\"apiVersion\":\"v1\",\"kind\":\"PodList\",\"metadata\":{{}},\"items\":[")?;
    while written < bytes {
        let comma = if count == 0 { "" } else { "," };
        let pod = format!(
            "{comma}{{\"metadata\":{{\"namespace\":\"a\",\"name\":\"p{count}\",\"uid\":\"u{count}\",\
             \"annotations\":{{\"padding\":\"{padding}\"}}}},\"spec\":{{\"volumes\":[{{\"name\":\"v\",\
             \"persistentVolumeClaim\":{{\"claimName\":\"c{}\"}}}}]}},\"status\":{{\"phase\":\"Running\"}}}}",
            count % 1000
        );
        out.write_all(pod.as_bytes())?;
        written += pod.len();
        count += 1;
    }
    write!(out, "]}}")?;
    Ok(count)
}

#[test]
fn a_dump_is_streamed_not_loaded() {
    let mut child = Call::new(["audit", "-v", "-f", "-"]).command().spawn().expect("it runs");
    let mut stdin = child.stdin.take().expect("because it is piped");
    let status = format!("/proc/{}/status", child.id());
    let feeder = thread::spawn(move || {
        let count = write_dump(&mut stdin, DUMP_MIB << 20).expect("it reads to the end");
        // All of it is on the other side, and the pipe is still open: it cannot have ended.
        stdin.flush().expect("a pipe can be flushed");
        let memory = peak_kib(&fs::read_to_string(&status).unwrap_or_default());
        drop(stdin);
        (count, memory)
    });
    let (mut stdout, mut stderr) = (String::new(), String::new());
    child.stdout.take().expect("piped").read_to_string(&mut stdout).expect("it is text");
    child.stderr.take().expect("piped").read_to_string(&mut stderr).expect("it is text");
    let code = child.wait().expect("it ends").code();
    let (count, memory) = feeder.join().expect("because writing worked");
    assert_eq!(code, Some(4), "a dump of pods alone shows no volumes: {stderr}");
    assert!(stderr.contains(&format!("read {count} pods")), "{stderr}");
    let memory = memory.expect("the kernel tells");
    assert!(memory < MOST_MEMORY_KIB, "{memory} KiB for {DUMP_MIB} MiB");
}

fn peak_kib(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").trim().parse().ok()
}

/// A pipe that waits in a folder of dumps is not one of them, and is not waited for.
#[test]
#[cfg(unix)]
fn a_pipe_among_dumps_is_left_out() {
    let folder = tempfile::tempdir().expect("the temporary folder is writable");
    fs::copy(fixture(), folder.path().join("a.yaml")).expect("the fixture can be read");
    let pipe = folder.path().join("b.json");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo is there").success());
    let ran = Call::new(["audit", "--each", &folder.path().to_string_lossy()]).run();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("b.json is not read: it is not a file"), "{}", ran.stderr);
}

/// A signal that comes while dumps of several clusters are read ends that; a test that hangs here has found what it is for.
#[test]
#[cfg(unix)]
fn a_signal_ends_the_reading_of_several_dumps() {
    let folder = tempfile::tempdir().expect("the temporary folder is writable");
    let pipe = folder.path().join("a.json");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo is there").success());
    let [a, b] = [format!("a={}", pipe.display()), format!("b={}", fixture())];
    let mut child =
        Call::new(["audit", "-f", &a, "-f", &b]).command().spawn().expect("the binary runs");
    // Opened when it is read.
    let held = fs::OpenOptions::new().write(true).open(&pipe).expect("the pipe can be written");
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::TERM).expect("it runs");
    drop(held);
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), Some(143));
}
