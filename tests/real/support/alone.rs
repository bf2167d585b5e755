//! Tests that mount volumes: each with mounts, processes and a network of its own.

use std::env;
use std::path::Path;
use std::process::Command;
use std::thread;

use super::patience::say;
use super::testbed::testbed;

/// The address of the machine in the network of such a test; it is not loopback, to which API servers forward nothing.
pub(crate) const ADDRESS: &str = "192.0.2.1";

/// Exit code of the script where the machine does not allow what it needs.
const CANNOT: i32 = 77;
/// Says to the test that it runs so.
const IS_ALONE: &str = "KUBECTL_STORAGE_TEST_IS_ALONE";

/// Has a test run by `tests/testbed/alone`: in this binary once more, with a testbed of its own.
///
/// Whatever it mounts and starts ends with it, also when it fails. Where the machine allows no mounts, the test is left out,
/// and stderr says so.
pub(crate) fn alone(test: impl FnOnce()) {
    if env::var_os(IS_ALONE).is_some() {
        return test();
    }
    testbed(); // built where modules can be downloaded
    let name = thread::current().name().expect("because a test has its thread").to_owned();
    let output = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/testbed/alone"))
        .arg(ADDRESS)
        .arg(env::current_exe().expect("because this is a program"))
        .args([&*name, "--exact", "--include-ignored", "--nocapture"])
        .env(IS_ALONE, "1")
        .output()
        .expect("because the script is a part of the project");
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (said(&output.stdout), said(&output.stderr));
    if output.status.code() == Some(CANNOT) {
        // A container or a user without these rights: the rest of the suite is of use there.
        say(&format!("{name} was left out: {stderr}"));
        return;
    }
    let passed = output.status.success() && stdout.contains("test result: ok. 1 passed");
    assert!(passed, "{name}, alone: {}\n{stdout}\n{stderr}", output.status);
}
