//! Door out: the only code that may write to a cluster.
//!
//! Nothing here yet: this build reports, and cannot write. A test holds that no other module
//! sends anything but reads.
