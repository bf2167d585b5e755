//! The loop: changes in, dirty subjects judged, timers.
//!
//! Nothing here yet: the parts that it needs, [`crate::cluster::Dirty`] and
//! [`crate::rules::Assessor::update`], are in use and tested.
