//! Output: the public shapes (`wire`), what fills them (`publish`, `writing`, `guard`), and one file per format.

pub(crate) mod lines;
pub(crate) mod columns;
pub mod explanation;
pub mod guard;
pub mod retention;
pub(crate) mod format;
pub(crate) mod jsonpath;
pub(crate) mod order;
pub(crate) mod list;
pub mod trend;
pub(crate) mod page;
pub(crate) mod table;
pub(crate) mod screen;
pub(crate) mod report;
pub(crate) mod event_stream;
pub mod inventory;
pub mod money;
pub mod storage;
pub mod teardown;
pub mod usage;
pub mod wire;
pub mod comparison;
pub(crate) mod sections;
pub(crate) mod summary;
pub(crate) mod formats;
pub(crate) mod publish;
pub(crate) mod repeated;
pub mod watch_status;
pub mod writing;

pub use publish::finding_event;
