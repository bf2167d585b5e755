//! `deploy/k9s/plugins.yaml`: accepted by k9s' own schema, and every command in it by the program.

use std::collections::{BTreeMap, BTreeSet};

use kubectl_storage::cli;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    next_commands,
    support::{read, root},
};

#[derive(Deserialize)]
struct Plugins {
    plugins: BTreeMap<String, Plugin>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Plugin {
    short_cut: String,
    scopes: Vec<String>,
    command: String,
    args: Vec<String>,
}

fn text() -> String {
    read(&root().join("deploy/k9s/plugins.yaml"))
}

#[test]
fn the_schema_of_k9s_accepts_the_plugins() {
    let schema = read(&root().join("tests/k9s/plugins.schema.json"));
    let schema = serde_json::from_str(&schema).expect("the schema is JSON");
    let validator = jsonschema::draft7::new(&schema).expect("the schema is one");
    let mut plugins: Value = serde_yaml::from_str(&text()).expect("because it is YAML");
    let wrong: Vec<_> = validator.iter_errors(&plugins).map(|it| it.to_string()).collect();
    assert_eq!(wrong, [""; 0]);
    plugins["plugins"]["kubectl-storage-gc"]["shortCut"] = Value::Null;
    assert!(!validator.is_valid(&plugins), "a plugin without a key");
}

/// What k9s puts in the place of its variables.
fn filled_in(arg: &str) -> String {
    ["$NAMESPACE", "$NAME", "$CONTEXT", "$KUBECONFIG"]
        .iter()
        .fold(arg.to_owned(), |arg, it| arg.replace(it, "one"))
}

#[test]
fn every_plugin_runs_a_command_that_changes_nothing() {
    let Plugins { plugins } = serde_yaml::from_str(&text()).expect("because it is YAML");
    let program = cli::command("kubectl-storage");
    let mut keys = BTreeSet::new();
    let mut explained = BTreeSet::new();
    for (name, plugin) in plugins {
        // A name or a context never becomes a part of the script.
        let [option, script, called, set, args @ ..] = &plugin.args[..] else { panic!("{name}") };
        assert_eq!((&*plugin.command, &**option), ("sh", "-c"), "{name}");
        assert_eq!(script, "env \"$@\" 2>&1 | less", "{name}");
        assert_eq!(called, "kubectl-storage", "{name}");
        // That of k9s, which may have been given with a flag.
        assert_eq!(set, "KUBECONFIG=$KUBECONFIG", "{name}");
        let args: Vec<_> = args.iter().map(|it| filled_in(it)).collect();
        let command = args.join(" ");
        assert_eq!(next_commands::check(&program, &command), Ok(()), "{name}");
        assert_eq!(args[args.len() - 2..], ["--context", "one"], "{name}");
        match &*args[2] {
            "explain" => assert!(explained.insert(plugin.scopes.clone()), "{name}"),
            "gc" => assert!(args.contains(&"--dry-run".to_owned()), "{name}"),
            other => panic!("{name}: {other}"),
        }
        // Two plugins with one key are refused where both are in scope.
        for scope in plugin.scopes {
            assert!(keys.insert((scope, plugin.short_cut.clone())), "{name}");
        }
    }
    let kinds =
        ["persistentvolumeclaims", "persistentvolumes", "statefulsets", "volumeattachments"];
    assert_eq!(explained.into_iter().flatten().collect::<Vec<_>>(), kinds);
}
