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

/// Places of every kind, on every kind of server, whose names are alike.
fn many_places() -> Vec<Place<'static>> {
    let server = |identity: Option<&'static str>, address: Option<&'static str>| Part::Server {
        identity: identity.map(Into::into),
        address: address.map(Into::into),
    };
    let host = |value: &str| Part::Nodes(format!("kubernetes.io/hostname In [{value}]").into());
    let named = [
        vec![Part::Is("a".into())],
        vec![Part::Is("B".into()), Part::Unknown("why")],
        vec![Part::Is("b".into()), Part::Is("c".into())],
        vec![Part::Named("a".into())],
        vec![Part::Named("1".into())],
        vec![server(None, Some("a"))],
        vec![server(None, Some("B"))],
        vec![server(Some("1"), None)],
        vec![server(Some("1"), Some("a"))],
        vec![server(Some("2"), Some("a"))],
        vec![server(Some("3"), Some("b"))],
        vec![Part::Unknown("why")],
        vec![],
    ];
    let nodes = [
        vec![host("\"a\"")],
        vec![host("\"b\"")],
        vec![host("\"a\", \"b\"")],
        vec![Part::Nodes("metadata.name In [\"a\"]".into())],
        vec![Part::Nodes("zone Exists".into())],
        vec![Part::Nodes(ANY_NODE.into())],
        vec![Part::Unknown("why")],
        vec![],
    ];
    let letters = [Letters::Alike, Letters::Distinct, Letters::Unclear];
    let mut places = Vec::new();
    for (space, realms) in [(NFS, &named[..]), ("disk", &named), ("path", &nodes)] {
        for (index, realm) in realms.iter().enumerate() {
            let paths = ["/", "/a", "/A", "/a/b", "/x/a/b", "/a/e\u{301}", "/a/\u{e9}", "/a/../b"];
            let directories = paths.map(|path| Place::directory(space, path));
            let within = paths.map(|path| Place::directory(space, path).somewhere_within("why"));
            let devices = ["a", "A", "7", "a/b", ""].map(|name| Place::device(space, name));
            let undecided = ["a", "7", "?"].map(|name| Place::undecided(space, name, "why"));
            let all = directories.into_iter().chain(within).chain(devices).chain(undecided);
            places.extend(all.map(|place| Place {
                realm: realm.clone(),
                letters: letters[index % 3],
                ..place
            }));
        }
    }
    places
}

#[test]
fn the_search_for_what_is_certain_finds_what_comparing_all_finds() {
    let places = many_places();
    let keys: Vec<_> = places.iter().map(Place::keys).collect();
    let (mut certain, mut possible) = (0, 0);
    for mine in &places {
        let finds = |searches: Vec<PlaceKey>| {
            move |keys: &[PlaceKey]| searches.iter().any(|it| keys.contains(it))
        };
        let by_name = finds(mine.certain_searches(false));
        let by_number = finds(mine.certain_searches(true));
        let anything = finds(mine.searches());
        for (theirs, keys) in places.iter().zip(&keys) {
            let Some(overlap) = mine.overlap(theirs) else { continue };
            possible += 1;
            certain += usize::from(overlap.is_certain());
            assert!(anything(keys), "{mine:?} does not find {theirs:?}");
            assert!(!overlap.is_certain() || by_number(keys), "{mine:?} misses {theirs:?}");
            let are_devices = mine.is_device() && theirs.is_device();
            let told = overlap.is_certain() || are_devices;
            assert!(!told || by_name(keys), "{mine:?} misses {theirs:?} by name");
        }
    }
    assert!(certain > 2_000 && possible > 10 * certain, "{certain} of {possible} are certain");
}

#[test]
fn very_many_places_that_are_known_to_be_apart_do_not_find_each_other() {
    let on = |part: Part<'static>, place: Place<'static>| Place { realm: vec![part], ..place };
    let known = |id: &'static str| Part::Server { identity: Some(id.into()), address: None };
    let root = || Place::directory(NFS, "/");
    let host = |name: &str| Part::Nodes(format!("kubernetes.io/hostname In [\"{name}\"]").into());
    for (mine, theirs, in_doubt) in [
        (on(known("1"), root()), on(known("2"), root()), false),
        (on(known("1"), root()), on(known("2"), root().descend("a")), false),
        (on(host("a"), root()), on(host("b"), root()), false),
        (export("s", "/a"), export("s", "/b"), false),
        (export("s", "/"), export("t", "/"), true),
        (on(known("1"), root()), export("s", "/a"), true),
        (
            on(known("1"), root().somewhere_within("an access point")),
            on(known("1"), root().somewhere_within("an access point")),
            true,
        ),
    ] {
        let keys = theirs.keys();
        let finds = |searches: Vec<PlaceKey>| searches.iter().any(|it| keys.contains(it));
        assert!(!finds(mine.certain_searches(false)), "{mine} looks at {theirs}");
        assert_eq!(finds(mine.searches()), in_doubt, "{mine} and {theirs}");
    }
}
