use super::*;

fn disk(name: &str) -> Place<'_> {
    Place::device("disk", name)
}

fn export<'a>(server: &'a str, path: &'a str) -> Place<'a> {
    let server = Part::Server { identity: None, address: Some(server.into()) };
    Place::directory("NFS", path).of(server)
}

/// How another place lies to one, with a question mark where it is not certain.
fn lies(mine: &Place<'_>, theirs: &Place<'_>) -> String {
    match mine.overlap(theirs) {
        None => "apart".to_owned(),
        Some(it) => {
            let doubt = if it.is_certain() { "" } else { "?" };
            format!("{:?}{doubt}", it.relation).to_lowercase()
        }
    }
}

#[test]
fn directories_contain_each_other_component_by_component() {
    for (mine, theirs, expected) in [
        ("/a/b", "/a/b", "equal"),
        ("/a/b", "//a/./b/", "equal"),
        ("/a", "/a/b/c", "inside"),
        ("/a/b/c", "/a", "around"),
        ("/", "/a", "inside"),
        ("/a/b", "/a/bc", "apart"),
        ("/a/b", "/A/b", "apart"),
        ("/a/b", "/a/../a/b", "equal?"),
        ("/a/e\u{301}", "/a/\u{e9}", "equal?"),
        ("/a/\u{fc}", "/a/\u{e9}", "apart"),
    ] {
        assert_eq!(lies(&export("s", mine), &export("s", theirs)), expected, "{mine} {theirs}");
    }
}

#[test]
fn what_is_unknown_agrees_with_everything_and_the_rest_decides() {
    let other_name = export("10.0.0.1", "/a/b");
    assert_eq!(lies(&export("nas", "/a/b"), &other_name), "equal?");
    assert_eq!(lies(&export("nas", "/a/c"), &other_name), "apart");
    let zone = |zone| disk("d").of(zone);
    let (here, there) = (zone(Part::Is("z".into())), zone(Part::Is("y".into())));
    assert_eq!(lies(&here, &there), "apart");
    assert_eq!(lies(&here, &zone(Part::Unknown("no zone"))), "equal?");
    assert_eq!(lies(&disk("d"), &disk("D")), "equal?", "case is unclear");
    assert_eq!(
        lies(&disk("d").letters(Letters::Alike), &disk("D").letters(Letters::Alike)),
        "equal"
    );
}

#[test]
fn two_known_servers_are_two_servers() {
    let known = |id: &'static str, address: &'static str| {
        Place::directory("NFS", "/v")
            .of(Part::Server { identity: Some(id.into()), address: Some(address.into()) })
    };
    assert_eq!(lies(&known("one", "10.0.0.1"), &known("two", "10.0.0.2")), "apart");
    assert_eq!(lies(&known("one", "10.0.0.1"), &export("10.0.0.1", "/v")), "equal");
    assert_eq!(lies(&known("one", "10.0.0.1"), &export("nas", "/v")), "equal?");
    assert_eq!(lies(&known("one", "10.0.0.1"), &known("two", "10.0.0.1")), "equal?");
}

#[test]
fn paths_of_different_nodes_are_different_paths() {
    let on = |nodes: &'static str| Place::directory("path", "/d").of(Part::Nodes(nodes.into()));
    let (a, b) = ("kubernetes.io/hostname In [\"a\"]", "kubernetes.io/hostname In [\"b\"]");
    let (pod_a, pod_b) = ("metadata.name In [\"a\"]", "metadata.name In [\"b\"]");
    let both = "kubernetes.io/hostname In [\"a\", \"b\"]";
    for (mine, theirs, expected) in [
        (a, a, "equal"),
        (a, b, "apart"),
        (a, "any", "equal"),
        (a, both, "equal?"),
        (a, pod_a, "equal"),
        (a, pod_b, "equal?"),
        (a, "zone Exists", "equal?"),
    ] {
        assert_eq!(lies(&on(mine), &on(theirs)), expected, "{mine} {theirs}");
    }
}

#[test]
fn a_place_that_is_only_known_to_be_somewhere_in_a_directory_may_be_anything_in_it() {
    let somewhere = |path| export("s", path).somewhere_within("an access point");
    assert_eq!(lies(&somewhere("/a"), &export("s", "/a/b")), "inside?");
    assert_eq!(lies(&somewhere("/a"), &export("s", "/a")), "around");
    assert_eq!(lies(&somewhere("/a"), &somewhere("/a")), "equal?");
    assert_eq!(lies(&somewhere("/a"), &export("s", "/")), "around");
    assert_eq!(lies(&somewhere("/a"), &export("s", "/b")), "apart");
}

#[test]
fn every_overlap_is_found_by_its_keys() {
    let long = "x/".repeat(5_000);
    let undecided = || Place::undecided("NFS", "?", "it does not parse");
    let places = [
        export("s", "/"),
        export("s", "/a"),
        export("t", "/a/b"),
        export("s", "/A/b"),
        export("s", "/a/b/c").somewhere_within("why"),
        export("s", "/a/e\u{301}"),
        export("s", "/a/\u{e9}"),
        export("s", &long),
        export("s", "/a/../b"),
        undecided(),
        disk("d"),
        disk("D"),
        Place::device("NFS", "a"),
    ];
    for mine in &places {
        let searches = mine.searches();
        for theirs in &places {
            let keys = theirs.keys();
            let found = searches.iter().any(|key| keys.contains(key));
            assert!(found || mine.overlap(theirs).is_none(), "{mine} does not find {theirs}");
        }
    }
}
