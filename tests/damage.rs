//! Damages sound input byte by byte, for whoever reads it: the suite without a cluster, and the crate's unit tests.

use std::{
    cell::Cell,
    env, fs,
    io::Write as _,
    time::{Duration, Instant},
};

use proptest::{
    collection::vec,
    prelude::*,
    sample::{Index, select},
    test_runner::{Config, TestError, TestRunner},
};

/// How many damaged inputs each reader gets.
const INPUTS: u32 = 100;
/// The longest that is made of one input.
const LONGEST: usize = 64 << 10;
/// No reader of so little takes so long, however slow the machine is.
const PATIENCE: Duration = Duration::from_secs(60);
/// What takes as long as this is read again.
const LONG: Duration = Duration::from_secs(1);

/// What means something in one of the formats.
const TOKENS: [&[u8]; 36] = [
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b"'",
    b"\\",
    b",",
    b":",
    b"\n",
    b"\n---\n",
    b"\n- ",
    b"\n  ",
    b"&a ",
    b"*a",
    b"!!binary ",
    b"|\n",
    b"? ",
    b"<<: ",
    b"null",
    b"-1",
    b"1e400",
    b"18446744073709551616",
    b"9999-12-31T23:59:59Z",
    b"\"items\":[",
    b"\"kind\":\"List\"",
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\xe2\x80\xae",
    b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
    b"\x1f\x8b\x08",
    b"ustar",
    b"..",
    b"[*]",
    b"[?(@",
];

/// One damage. Places and lengths are parts of what there is.
#[derive(Debug, Clone)]
enum Edit {
    Flip {
        at: Index,
        bit: u8,
    },
    Put {
        at: Index,
        token: &'static [u8],
    },
    Cut {
        at: Index,
        length: u16,
    },
    /// Puts a part once more behind itself, so often.
    Repeat {
        at: Index,
        length: u8,
        times: u16,
    },
    /// Puts a part of another input there.
    Splice {
        at: Index,
        of: Index,
        from: Index,
        length: u16,
    },
    End {
        at: Index,
    },
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = any::<Index>;
    prop_oneof![
        (at(), 0..8_u8).prop_map(|(at, bit)| Edit::Flip { at, bit }),
        (at(), select(&TOKENS[..])).prop_map(|(at, token)| Edit::Put { at, token }),
        (at(), 1..200_u16).prop_map(|(at, length)| Edit::Cut { at, length }),
        (at(), 1..64_u8, 1..500_u16).prop_map(|(at, length, times)| Edit::Repeat {
            at,
            length,
            times
        }),
        (at(), at(), at(), 1..500_u16).prop_map(|(at, of, from, length)| Edit::Splice {
            at,
            of,
            from,
            length
        }),
        at().prop_map(|at| Edit::End { at }),
    ]
}

fn part(bytes: &[u8], at: usize, length: usize) -> &[u8] {
    &bytes[at..bytes.len().min(at + length)]
}

/// Makes an edit.
fn damage(bytes: &mut Vec<u8>, edit: &Edit, sound: &[Vec<u8>]) {
    let place = |at: &Index| at.index(bytes.len().max(1)).min(bytes.len());
    let put = match edit {
        Edit::Flip { at, bit } => {
            let at = place(at);
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << bit;
            }
            return;
        }
        Edit::Cut { at, length } => {
            let at = place(at);
            let end = bytes.len().min(at + usize::from(*length));
            bytes.drain(at..end);
            return;
        }
        Edit::End { at } => {
            let at = place(at);
            return bytes.truncate(at);
        }
        Edit::Put { at, token } => (place(at), token.to_vec()),
        Edit::Repeat { at, length, times } => {
            let at = place(at);
            (at, part(bytes, at, usize::from(*length)).repeat(usize::from(*times)))
        }
        Edit::Splice { at, of, from, length } => {
            let of = &sound[of.index(sound.len())];
            (place(at), part(of, from.index(of.len().max(1)), usize::from(*length)).to_vec())
        }
    };
    let (at, put) = put;
    bytes.splice(at..at, put);
    bytes.truncate(LONGEST);
}

/// Reads an input, and returns how long that takes. The machine may have slept meanwhile: what took long is read again.
fn duration(read: impl Fn(&[u8]), bytes: &[u8]) -> Duration {
    let once = || {
        let begun = Instant::now();
        read(bytes);
        begun.elapsed()
    };
    let first = once();
    if first < LONG { first } else { first.min(once()) }
}

/// Gives damaged inputs to a reader.
pub(crate) fn hold(name: &str, sound: &[Vec<u8>], read: impl Fn(&[u8])) {
    assert!(!sound.is_empty());
    // What is sound is read too.
    for it in sound {
        read(it);
    }
    let inputs =
        env::var("INPUTS").ok().map_or(INPUTS, |it| it.parse().expect("INPUTS is a number"));
    let config = Config { cases: inputs, failure_persistence: None, ..Config::default() };
    let slowest = Cell::new(Duration::ZERO);
    let begun = Instant::now();
    let damaged = |which: &Index, edits: &[Edit]| {
        let mut bytes = sound[which.index(sound.len())].clone();
        for it in edits {
            damage(&mut bytes, it, sound);
        }
        bytes
    };
    let strategy = (any::<Index>(), vec(edit(), 1..8));
    let held = TestRunner::new(config).run(&strategy, |(which, edits)| {
        let bytes = damaged(&which, &edits);
        let took = duration(&read, &bytes);
        slowest.set(slowest.get().max(took));
        prop_assert!(took < PATIENCE, "{took:?} for {}", bytes.escape_ascii());
        Ok(())
    });
    match held {
        Ok(()) => {}
        Err(TestError::Fail(reason, (which, edits))) => {
            panic!("{name}: {reason}\n{edits:?}\n{}", damaged(&which, &edits).escape_ascii());
        }
        Err(TestError::Abort(reason)) => panic!("{name}: {reason}"),
    }
    // Shown of a test that passes, too: a long run is begun for these figures.
    let told = format!(
        "{name}: {inputs} inputs in {:?}, the slowest in {:?}, at most {} resident\n",
        begun.elapsed(),
        slowest.get(),
        resident()
    );
    std::io::stderr().write_all(told.as_bytes()).expect("stderr is open");
}

/// The most memory that the process had so far, where Linux tells it.
fn resident() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|it| it.strip_prefix("VmHWM:"));
    line.map_or_else(|| "an unknown amount".to_owned(), |it| it.trim().to_owned())
}
