//! Tests that see the package from outside, without a cluster.

mod ages;
mod alerts;
mod architecture;
mod beyond;
mod book;
mod causes;
mod cases;
mod chart;
mod citations;
mod claims_page;
mod cli;
mod completions;
mod damaged;
mod deletions;
mod deploy;
mod drivers;
mod explain;
mod fixture;
#[cfg(target_os = "linux")] // where the steps of a workflow run
mod github_action;
mod growth;
mod guard;
mod incremental;
mod inventory;
mod journal;
mod k9s;
mod krew_manifest;
mod links;
mod next_commands;
mod odd;
mod page;
mod pages;
mod picture;
mod places;
mod platforms;
mod registry;
#[cfg(target_os = "linux")] // where releases are packed
mod release;
mod reports;
mod rules;
mod schema;
mod support;
#[cfg(target_os = "linux")] // where releases are packed
#[path = "../documents.rs"]
mod documents;
#[path = "../damage.rs"]
mod damage;
#[path = "../terminal.rs"]
mod terminal;
mod watch_policy;
mod words;
mod workflows;
