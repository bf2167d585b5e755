//! What `audit -o json` said.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use serde_json::Value;

use super::record::Saved;
use super::run::Outcome;

/// A report, with what the run said on stderr and its exit code.
pub(crate) struct Report {
    pub(crate) json: Value,
    pub(crate) stderr: String,
    pub(crate) code: Option<i32>,
    /// What it saw, while fixtures are recorded.
    pub(super) saved: Option<Saved>,
}

/// One finding of a report.
#[derive(Clone, Copy)]
pub(crate) struct Finding<'a>(pub(crate) &'a Value);

impl Report {
    pub(super) fn read(outcome: Outcome) -> Self {
        let Outcome { stdout, stderr, code } = outcome;
        let json = serde_json::from_str(&stdout).unwrap_or_else(|error| {
            panic!("no report ({error}); exit code {code:?}, stdout: {stdout}\nstderr: {stderr}")
        });
        let report = Self { json, stderr, code, saved: None };
        report.check();
        report
    }

    /// What every report promises.
    fn check(&self) {
        assert_eq!(self.json["kind"], "AuditReport", "{self}");
        assert!(self.json["summary"].is_object(), "{self}");
        let mut names = BTreeSet::new();
        for finding in self.findings() {
            assert!(
                names.insert((finding.id(), finding.object())),
                "twice: {} {}",
                finding.id(),
                finding.object()
            );
            assert!(
                ["critical", "high", "medium", "low", "info"].contains(&finding.severity()),
                "{finding}"
            );
            let verdict = finding.0["verdict"]["state"].as_str().unwrap_or_default();
            assert!(
                ["fixable", "blocked", "report-only", "unseen"].contains(&verdict),
                "{finding}"
            );
            assert!(!finding.0["summary"].as_str().unwrap_or_default().is_empty(), "{finding}");
        }
        let incomplete = !self.gaps().is_empty();
        assert_eq!(
            self.code == Some(4),
            incomplete && self.code != Some(3),
            "exit code and gaps: {self}"
        );
    }

    pub(crate) fn findings(&self) -> impl Iterator<Item = Finding<'_>> {
        self.json["findings"]
            .as_array()
            .expect("because every report has findings")
            .iter()
            .map(Finding)
    }

    pub(crate) fn gaps(&self) -> &[Value] {
        self.json["gaps"].as_array().expect("because every report has gaps")
    }

    /// Whether this resource was not seen, in one namespace or (`None`) anywhere.
    pub(crate) fn has_gap(&self, resource: &str, namespace: Option<&str>) -> bool {
        self.gaps()
            .iter()
            .any(|gap| gap["resource"] == resource && gap["namespace"].as_str() == namespace)
    }

    /// The ids of all findings about an object: `pv/NAME` or `pvc/NAMESPACE/NAME`.
    pub(crate) fn ids_of(&self, object: &str) -> Vec<&str> {
        let mut ids: Vec<_> =
            self.findings().filter(|finding| finding.object() == object).map(Finding::id).collect();
        ids.sort_unstable();
        ids
    }

    /// Panics unless these, in the order of the alphabet, are all that is found about an object.
    pub(crate) fn expect_ids(&self, object: &str, ids: &[&str]) {
        assert_eq!(self.ids_of(object), ids, "about {object}: {self}");
    }

    /// Panics when this is found about an object.
    pub(crate) fn expect_not(&self, object: &str, id: &str) {
        assert!(!self.ids_of(object).contains(&id), "about {object}: {self}");
    }

    /// The finding of this id about an object; panics with the whole report when there is none.
    pub(crate) fn finding(&self, id: &str, object: &str) -> Finding<'_> {
        self.findings()
            .find(|finding| finding.id() == id && finding.object() == object)
            .unwrap_or_else(|| {
                let others = self.findings().filter(|finding| finding.object() == object);
                let others: String = others.map(|finding| finding.to_string()).collect();
                panic!("no {id} about {object}, only {others}\n{self}")
            })
    }

    /// All pairs of id and object.
    pub(crate) fn pairs(&self) -> BTreeSet<(String, String)> {
        self.findings().map(|finding| (finding.id().to_owned(), finding.object())).collect()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "exit code {:?}, stderr: {}", self.code, self.stderr)?;
        for finding in self.findings() {
            writeln!(out, "  {} {}: {}", finding.id(), finding.object(), finding.0["summary"])?;
        }
        write!(out, "gaps: {}", self.json["gaps"])
    }
}

impl<'a> Finding<'a> {
    pub(crate) fn id(self) -> &'a str {
        self.0["id"].as_str().expect("because every finding has an id")
    }

    /// `pv/NAME`, `pvc/NAMESPACE/NAME`, `sts/NAMESPACE/NAME`, or the kind in lower case for other kinds.
    pub(crate) fn object(self) -> String {
        let object = &self.0["object"];
        let kind = match object["kind"].as_str().expect("because every object has a kind") {
            "PersistentVolume" => "pv".to_owned(),
            "PersistentVolumeClaim" => "pvc".to_owned(),
            "StatefulSet" => "sts".to_owned(),
            other => other.to_lowercase(),
        };
        let name = object["name"].as_str().expect("because every object has a name");
        match object["namespace"].as_str() {
            Some(namespace) => format!("{kind}/{namespace}/{name}"),
            None => format!("{kind}/{name}"),
        }
    }

    pub(crate) fn severity(self) -> &'a str {
        self.0["severity"].as_str().unwrap_or_default()
    }

    pub(crate) fn seconds(self) -> i64 {
        self.0["age"]["seconds"].as_i64().unwrap_or_else(|| panic!("no age: {self}"))
    }

    /// Panics unless its age is trusted so far.
    pub(crate) fn trusted(self, trust: &str) -> Self {
        assert_eq!(self.0["age"]["trust"], trust, "{self}");
        self
    }

    /// Panics unless its age lies between these seconds.
    pub(crate) fn aged(self, seconds: Range<i64>) -> Self {
        assert!(seconds.contains(&self.seconds()), "{self}");
        self
    }

    pub(crate) fn severe(self, severity: &str) -> Self {
        assert_eq!(self.severity(), severity, "{self}");
        self
    }

    /// Panics when it says that it could be repaired.
    pub(crate) fn not_fixable(self) -> Self {
        assert_ne!(self.0["verdict"]["state"], "fixable", "{self}");
        self
    }

    /// Panics unless severity and verdict are these.
    pub(crate) fn expect(self, severity: &str, verdict: &str) -> Self {
        self.severe(severity);
        assert_eq!(self.0["verdict"]["state"], verdict, "{self}");
        self
    }

    /// Panics unless it says all of this somewhere, whatever the letters' case.
    pub(crate) fn says(self, words: &[&str]) -> Self {
        let text = self.0.to_string().to_lowercase();
        for word in words {
            assert!(text.contains(&word.to_lowercase()), "does not say {word:?}: {self}");
        }
        self
    }
}

impl fmt::Display for Finding<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:#}", self.0)
    }
}
