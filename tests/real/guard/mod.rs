//! The guard on real API servers: everybody against every rule, kubectl with everything it has, and the
//! tool's own commands under it.

mod actors;
mod ask;
mod attack;
mod attempts;
mod cost;
mod deleted;
mod documents;
mod found;
mod helm;
mod installed;
mod not_stopped;
mod random;
mod servers;
mod under;
mod versions;
mod world;
