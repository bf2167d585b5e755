//! What a driver destroys when it deletes a volume, and what else names the same storage.

mod controller_settings;
mod destruction;
mod identity;
mod neighbours;
mod origin;
mod wanted;

pub(crate) use controller_settings::controller_settings;
pub(super) use controller_settings::derive as derive_controller_settings;
pub(crate) use destruction::{
    Sameness, UNIDENTIFIED, destruction, provisioning_family, recreated_class, same_storage,
};
pub(super) use identity::derive as derive_identity;
pub(crate) use identity::undecided as undecided_identity;
pub(crate) use neighbours::{Nearness, neighbours};
pub(crate) use origin::{Copied, copied, is_static, keeper, keeper_of, marks_of_others};
pub(crate) use wanted::wishes_for;
