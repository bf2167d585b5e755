//! Files of one room do not import each other in a circle, so that each can be read after those that
//! it rests on. A folder's `mod.rs` and the files in it may know each other.

use std::collections::{BTreeMap, BTreeSet};

use super::{assert_none, source::Source, sources};

type Module = Vec<String>;

/// Which files each file imports from, those above and beneath it in the folders left out.
fn imports(sources: &[Source]) -> BTreeMap<Module, BTreeSet<Module>> {
    let modules: BTreeSet<Module> = sources.iter().map(Source::module).collect();
    let mut imports = BTreeMap::new();
    for source in sources {
        let own = source.module();
        let file_of = |path: &[String]| -> Option<Module> {
            let path = path.split_first().filter(|(first, _)| *first == "crate")?.1;
            let lengths = (1..=path.len()).rev();
            lengths
                .map(|length| &path[..length])
                .find(|it| modules.contains(*it))
                .map(<[_]>::to_vec)
        };
        let related = |other: &Module| other.starts_with(&own) || own.starts_with(other);
        let paths = source.paths();
        let others = paths.iter().filter_map(|path| file_of(path)).filter(|it| !related(it));
        imports.insert(own.clone(), others.collect());
    }
    imports
}

/// Everything that can be reached from a file.
fn reached(from: &Module, imports: &BTreeMap<Module, BTreeSet<Module>>) -> BTreeSet<Module> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(module) = open.pop() {
        for next in imports.get(module).into_iter().flatten() {
            if reached.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    reached
}

fn circles(sources: &[Source]) -> Vec<String> {
    let imports = imports(sources);
    let in_a_circle = |module: &&Module| reached(module, &imports).contains(*module);
    imports.keys().filter(in_a_circle).map(|module| module.join("/")).collect()
}

#[test]
fn files_do_not_import_each_other_in_circles() {
    assert_none(&circles(&sources(&["src"])), "in a circle of imports");
}

#[test]
fn a_circle_is_seen() {
    let there = Source::new("src/apply/step.rs", "use super::kept::Record;");
    let back = Source::new("src/apply/kept.rs", "use super::{run::Run};");
    let on = Source::new("src/apply/run.rs", "use crate::apply::step::{self, Step};");
    let folder = Source::new("src/apply/mod.rs", "use self::step::Step; use super::model::A;");
    let child = Source::new("src/apply/step/child.rs", "use super::Step; use super::super::Run;");
    let all = [there, back, on, folder, child];
    assert_eq!(circles(&all), ["apply/kept", "apply/run", "apply/step"]);
    assert_eq!(circles(&all[1..]), [""; 0]);
}
