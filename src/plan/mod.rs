//! Proposals selected, ordered and bounded, as a value that can be shown, saved and confirmed.
//!
//! Nothing here yet: this build reports, and does not write.
