//! `audit --watch`: what is told of findings adds up to what an audit says, whatever happens to the cluster and to the
//! way there.

mod disturbed;
mod told;
mod watcher;

use watcher::Watcher;
