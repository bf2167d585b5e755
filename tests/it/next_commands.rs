//! Every next command runs as it is printed: in each finding of each fixture, and on the screen, where
//! one command stands for several objects.

use std::collections::{BTreeMap, BTreeSet};

use kubectl_storage::{cli, rules::REGISTRY};

use crate::{
    rules::{dump, dumps, look},
    support::Call,
    terminal::Terminal,
};

/// What kubectl is asked to do.
const VERBS: [&str; 7] = ["annotate", "delete", "describe", "get", "label", "patch", "uncordon"];

/// The words of a command, as a shell reads them; an error where it would do more than call programs.
fn words(command: &str) -> Result<Vec<String>, String> {
    let mut words: Vec<String> = Vec::new();
    let (mut word, mut is_quoted, mut is_begun, mut is_escaped) =
        (String::new(), false, false, false);
    for letter in command.chars() {
        match letter {
            _ if is_escaped => {
                word.push(letter);
                is_escaped = false;
            }
            '\'' => {
                is_quoted = !is_quoted;
                is_begun = true;
            }
            _ if is_quoted => word.push(letter),
            '\\' => is_escaped = true,
            ' ' if is_begun || !word.is_empty() => {
                words.push(std::mem::take(&mut word));
                is_begun = false;
            }
            ' ' => {}
            '$' | '`' | '"' | ';' | '&' | '<' | '>' | '(' | ')' | '*' | '?' | '…' => {
                return Err(format!("a shell would carry out {letter}"));
            }
            _ => word.push(letter),
        }
    }
    if is_quoted || is_escaped {
        return Err("it ends within a word".to_owned());
    }
    if is_begun || !word.is_empty() {
        words.push(word);
    }
    Ok(words)
}

/// Whether a word stands for something that a reader would have to fill in.
fn is_placeholder(word: &str) -> bool {
    let is_shouted = |part: &str| part.len() > 2 && part.chars().all(|c| c.is_ascii_uppercase());
    word.split(|c: char| !c.is_ascii_alphanumeric()).any(is_shouted)
}

/// Says why a command does not run as it stands.
pub(crate) fn check(program: &clap::Command, command: &str) -> Result<(), String> {
    let words = words(command)?;
    if let Some(word) = words.iter().find(|it| is_placeholder(it)) {
        return Err(format!("{word} has to be filled in"));
    }
    let mut parts: Vec<Vec<String>> = words.split(|it| it == "|").map(<[_]>::to_vec).collect();
    if let [_, last] = &mut parts[..] {
        // What follows has the names behind it.
        let names = ["persistentvolume/one", "persistentvolume/two"].map(str::to_owned);
        match &last[..] {
            // Without -r it would run for everything where the report is empty or fails.
            [xargs, some, tty, rest @ ..] if [xargs, some, tty] == ["xargs", "-r", "-o"] => {
                *last = [rest, &names[..]].concat();
            }
            _ => return Err("it pipes into something else than xargs".to_owned()),
        }
    }
    for part in parts {
        let part: Vec<&str> = part.iter().map(|it| &**it).collect();
        match &part[..] {
            ["kubectl", "storage", rest @ ..] => {
                let typed = ["kubectl-storage"].iter().chain(rest);
                program.clone().try_get_matches_from(typed).map_err(|error| error.to_string())?;
            }
            ["kubectl", verb, first, rest @ ..] if VERBS.contains(verb) => {
                let has_name = match first.split_once('/') {
                    Some((kind, name)) => !kind.is_empty() && !name.is_empty(),
                    None if *verb == "uncordon" => true,
                    None => rest.first().is_some_and(|it| !it.starts_with('-')),
                };
                if first.starts_with('-') || !has_name {
                    return Err("it names no object".to_owned());
                }
            }
            _ => return Err("it is no command of kubectl".to_owned()),
        }
    }
    Ok(())
}

/// The fragments of a text that are marked as commands.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Every dump of every rule.
fn all_dumps() -> impl Iterator<Item = (&'static kubectl_storage::rules::Rule, String)> {
    REGISTRY.iter().flat_map(|rule| {
        let files = dumps(rule, "found").into_iter().chain(dumps(rule, "clean"));
        files.map(move |file| (*rule, file))
    })
}

#[test]
fn every_command_in_a_finding_runs_as_it_is_printed() {
    let program = cli::command("kubectl-storage");
    let mut wrong = BTreeSet::new();
    let mut sound = BTreeSet::new();
    for (rule, file) in all_dumps() {
        let look = look(rule, &file);
        for finding in look.assessor.findings(&look.intake.cluster, &look.settings) {
            let offered = finding.offer.as_ref().and_then(|it| it.command.clone());
            let helps = finding.evidence.iter().filter(|it| it.field == "what helps");
            let texts =
                helps.map(|it| &it.value).chain([&finding.verdict.reason, &finding.summary]);
            let quoted = texts.flat_map(|it| quoted(it)).map(str::to_owned);
            for command in offered.into_iter().chain(quoted) {
                match check(&program, &command) {
                    Ok(()) => sound.insert(command),
                    Err(why) => {
                        wrong.insert(format!("{} ({file}): {command}: {why}", finding.rule))
                    }
                };
            }
        }
    }
    assert!(wrong.is_empty(), "{}", Vec::from_iter(wrong).join("\n"));
    assert!(sound.len() > 200, "{sound:#?}");
}

/// The commands of a screen: those that stand by themselves, and those within sentences, without the
/// places at which they are broken.
fn commands_of(screen: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in screen.lines() {
        let is_broken = line.ends_with(" \\");
        let text = line.trim_end_matches(" \\");
        match lines.last_mut().filter(|_| goes_on) {
            Some(last) => *last = format!("{last} {}", text.trim_start()),
            None => lines.push(text.to_owned()),
        }
        goes_on = is_broken;
    }
    let alone = lines.iter().filter_map(|line| {
        let text = line.trim_start().trim_start_matches("Next:").trim_start();
        let is_indented = line.starts_with("  ") && text.starts_with("kubectl ");
        is_indented.then(|| text.to_owned())
    });
    let text = lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
    alone.chain(quoted(&text).map(str::to_owned)).collect()
}

#[test]
#[ignore = "extended suite: every screen"]
fn every_command_on_a_screen_runs_as_it_is_printed() {
    let program = cli::command("kubectl-storage");
    let mut wrong = BTreeSet::new();
    let mut about_several = 0;
    let mut of_dump: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut checked = BTreeSet::new();
    let found = all_dumps().filter(|(_, file)| file.starts_with("found"));
    for ((rule, file), columns) in found.zip([40, 120].into_iter().cycle()) {
        let path = dump(rule, &file).to_string_lossy().into_owned();
        {
            let call = Call::new(["audit", "-f", &path]);
            let (screen, _) = Terminal::sized(call.command(), columns).finish();
            // Some things are found only with the settings of the fixture.
            if !screen.starts_with("SEVERITY") {
                continue;
            }
            assert!(!screen.contains("--complete"), "{path}: {screen}");
            let commands = commands_of(&screen);
            let start = screen.split("Start here:").nth(1).unwrap_or_default();
            assert!(start.contains("kubectl storage "), "{path}: {screen}");
            for command in commands {
                if checked.insert(command.clone())
                    && let Err(why) = check(&program, &command)
                {
                    wrong.insert(format!("{path} at {columns}: {command}: {why}"));
                }
                about_several += usize::from(command.matches(" pv/").count() > 1);
                if command.ends_with(&path) && !command.contains(" | ") {
                    of_dump.entry(path.clone()).or_default().insert(command);
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", Vec::from_iter(wrong).join("\n"));
    assert!(about_several > 5, "{about_several}");
    // Those about the dump itself can be tried.
    for command in of_dump.values().flatten() {
        let words = words(command).expect("because it was checked");
        let ran = Call::new(words.into_iter().skip(2)).run();
        assert!(!matches!(ran.code, Some(1 | 2) | None), "{command}: {}", ran.stderr);
    }
}

/// More objects than a command names are selected by a report, which lists just these.
#[test]
fn many_objects_are_selected_by_a_report() {
    let place = tempfile::tempdir().expect("a temporary folder");
    let volume = |number: usize| {
        serde_json::json!({
            "apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": {
                "name": format!("pv-{number}"), "uid": format!("00000000-0000-4000-8000-00000000000{number}"),
                "creationTimestamp": "2026-01-01T00:00:00Z",
            },
            "spec": {
                "capacity": {"storage": "1Gi"}, "persistentVolumeReclaimPolicy": "Retain",
                "claimRef": {"kind": "PersistentVolumeClaim", "namespace": "shop", "name": "c", "uid": "1"},
                "csi": {"driver": "disk.example.com", "volumeHandle": format!("vol-{number}")},
            },
            "status": {"phase": "Bound"},
        })
    };
    // It is newer than they are.
    let class = serde_json::json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "disk.example.com",
        "metadata": {"name": "fast", "creationTimestamp": "2026-03-01T00:00:00Z"},
    });
    let items: Vec<_> = (0..7).map(volume).chain([class]).collect();
    let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": items});
    std::fs::write(place.path().join("dump.json"), list.to_string()).expect("it can be written");
    let call = |args: &[&str]| Call {
        folder: Some(place.path().to_owned()),
        ..Call::new(args.iter().copied())
    };
    let audit = call(&["audit", "-f", "dump.json"]);
    let (screen, _) = Terminal::sized(audit.command(), 60).finish();
    let program = cli::command("kubectl-storage");
    let commands = commands_of(&screen);
    let piped = "kubectl storage audit -f dump.json --rule pv-missing-pv-protection -o name | \
                 xargs -r -o kubectl storage fix-finalizers";
    assert_eq!(commands, [piped.to_owned(), format!("{piped} -f dump.json")], "{screen}");
    assert_eq!(commands.iter().try_for_each(|it| check(&program, it)), Ok(()));
    let (report, _) = piped.split_once(" | ").expect("because it is one");
    let words = words(report).expect("because it was checked");
    let listed = call(&words.iter().skip(2).map(|it| &**it).collect::<Vec<_>>()).run().stdout;
    let names: Vec<_> = (0..7).map(|number| format!("persistentvolume/pv-{number}")).collect();
    assert_eq!(listed.lines().collect::<Vec<_>>(), names);
    // What was said besides would have to be said again.
    let audit = call(&["audit", "-f", "dump.json", "--older-than", "2d"]);
    let (screen, _) = Terminal::sized(audit.command(), 60).finish();
    assert!(screen.contains("and 2 more: see -o wide") && !screen.contains("xargs"), "{screen}");
    // A section is not the report, nor is what is severe enough.
    for part in [["--group-by", "class"], ["--severity", "low"]] {
        let audit = call(&[&["audit", "-f", "dump.json"][..], &part].concat());
        let (screen, _) = Terminal::sized(audit.command(), 60).finish();
        assert!(screen.contains("pv/pv-0") && !screen.contains("xargs"), "{part:?}: {screen}");
    }
    // What was said of the dump is said again, and where the records are.
    let said = ["--taken-at", "2026-06-01T00:00:00Z", "--record-namespace", "kept"];
    let audit = call(&[&["audit", "-f", "dump.json"][..], &said].concat());
    let (screen, _) = Terminal::sized(audit.command(), 60).finish();
    let start = commands_of(&screen).pop().unwrap_or_default();
    let words = " -f dump.json --taken-at 2026-06-01T00:00:00Z";
    assert!(start.ends_with(&format!(" --record-namespace kept{words}")), "{start}");
    // Those about the cluster are about the one that was named beside the dump.
    let beside = ["--context", "a  b", "-o", "json"];
    let audit = call(&[&["audit", "-f", "dump.json"][..], &beside].concat());
    let report = audit.run().stdout;
    assert!(report.contains("kubectl storage fix-finalizers pv/pv-0 --context 'a  b'"), "{report}");
}

#[test]
fn what_cannot_be_typed_is_found() {
    let program = cli::command("kubectl-storage");
    for (command, why) in [
        ("kubectl storage retain pv/NAME", "filled in"),
        ("kubectl storage rebind pv/a --from FILE", "filled in"),
        ("kubectl storage gc --keep-backend", "--older-than"),
        ("kubectl storage guard", "Usage:"),
        ("kubectl storage retain pv/a;reboot", "carry out"),
        ("kubectl storage retain pv/a pv/b …", "carry out"),
        ("gc --announced", "no command"),
        ("kubectl delete --all", "names no object"),
        ("kubectl edit pv/a", "no command"),
        ("kubectl storage audit -o name | sh", "pipes"),
        ("kubectl storage audit -o name | xargs -o kubectl storage retain", "pipes"),
    ] {
        let found = check(&program, command).expect_err(command);
        assert!(found.contains(why), "{command}: {found}");
    }
    for command in [
        "kubectl storage retain 'pv/a;b' pv/b -n shop",
        "kubectl storage audit --rule pv-failed -o name | xargs -r -o kubectl storage retain",
        "kubectl patch pv a -p '{\"spec\":{\"persistentVolumeReclaimPolicy\":\"Delete\"}}'",
        "kubectl delete volumeattachment/csi-1",
    ] {
        assert_eq!(check(&program, command), Ok(()), "{command}");
    }
    let screen =
        "  Next:  kubectl storage retain \\\n         pv/a\nrun `kubectl get \\\npv a` now\n";
    assert_eq!(commands_of(screen), ["kubectl storage retain pv/a", "kubectl get pv a"]);
}
