//! Volumes that share storage: who is at the same places is found once, and asked by each of them.

use std::{cell::OnceCell, collections::HashMap, rc::Rc};

use crate::drivers::Overlap;
use crate::model::{Text, Volume, VolumeSource};

/// All volumes at some places, in the order of their names.
///
/// Thousands may be at the same places, and each of them asks about all others: what they ask is
/// counted once.
#[derive(Debug, Default)]
pub(super) struct Crowd<'a> {
    members: Vec<(&'a Volume, Overlap)>,
    certain: usize,
    on_one_node: usize,
    /// How many have the same driver and handle.
    handles: HashMap<(&'a Text, &'a str), usize>,
    destroyers: OnceCell<Destroyers>,
}

/// Members whose policies may destroy what all share.
#[derive(Debug)]
struct Destroyers {
    members: Vec<usize>,
    certain: usize,
}

/// The volumes that share storage with one, in the order of their names.
#[derive(Debug, Clone)]
pub struct Others<'a> {
    crowd: Rc<Crowd<'a>>,
    /// Which member of the crowd the volume itself is.
    own: Option<usize>,
}

impl<'a> Crowd<'a> {
    pub(super) fn new(members: Vec<(&'a Volume, Overlap)>) -> Self {
        let mut handles = HashMap::new();
        for (volume, _) in &members {
            if let Some(handle) = csi(volume) {
                *handles.entry(handle).or_default() += 1;
            }
        }
        Self {
            certain: members.iter().filter(|(_, overlap)| overlap.is_certain()).count(),
            on_one_node: members.iter().filter(|(volume, _)| !volume.is_shared).count(),
            handles,
            members,
            destroyers: OnceCell::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    /// Those besides the volume of this name.
    pub(super) fn besides(self: Rc<Self>, name: &str) -> Others<'a> {
        let own = self.members.binary_search_by(|(volume, _)| volume.name().cmp(name)).ok();
        Others { crowd: self, own }
    }
}

impl<'a> Others<'a> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.crowd.len() - usize::from(self.own.is_some())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Each of them, and how it lies to the volume.
    pub fn iter(&self) -> impl Iterator<Item = &(&'a Volume, Overlap)> {
        let members = self.crowd.members.iter().enumerate();
        members.filter(|(index, _)| Some(*index) != self.own).map(|(_, member)| member)
    }

    /// How many of them share storage for certain.
    pub fn certain(&self) -> usize {
        let own = self.own().is_some_and(|(_, overlap)| overlap.is_certain());
        self.crowd.certain - usize::from(own)
    }

    /// Whether several nodes may mount each of them.
    pub fn are_shared(&self) -> bool {
        let own = self.own().is_some_and(|(volume, _)| !volume.is_shared);
        self.crowd.on_one_node == usize::from(own)
    }

    /// Whether one of them has the driver and the handle of a CSI volume.
    pub fn have_handle_of(&self, volume: &Volume) -> bool {
        let of = |it| self.crowd.handles.get(&it).copied().unwrap_or_default();
        let own = self.own().and_then(|(own, _)| csi(own));
        csi(volume).is_some_and(|handle| of(handle) > usize::from(own == Some(handle)))
    }

    /// Those that may destroy what they share, as the caller says: it is asked once for each member.
    /// With them, how many of them share it for certain.
    pub fn destroyers(
        &self,
        may_destroy: impl Fn(&Volume) -> bool,
    ) -> (usize, impl Iterator<Item = &(&'a Volume, Overlap)>) {
        let is_certain = |index: &usize| self.crowd.members[*index].1.is_certain();
        let Destroyers { members, certain } = self.crowd.destroyers.get_or_init(|| {
            let all = self.crowd.members.iter().enumerate();
            let members: Vec<_> =
                all.filter(|(_, (volume, _))| may_destroy(volume)).map(|it| it.0).collect();
            Destroyers { certain: members.iter().filter(|it| is_certain(it)).count(), members }
        });
        let own = self.own.filter(|own| is_certain(own) && members.binary_search(own).is_ok());
        let others = members.iter().filter(|index| Some(**index) != self.own);
        let others = others.map(|index| &self.crowd.members[*index]);
        (certain - usize::from(own.is_some()), others)
    }

    fn own(&self) -> Option<&(&'a Volume, Overlap)> {
        self.own.map(|own| &self.crowd.members[own])
    }
}

/// The driver and the handle of a CSI volume.
fn csi(volume: &Volume) -> Option<(&Text, &str)> {
    match &volume.source {
        VolumeSource::Csi { driver, handle, .. } => Some((driver, handle)),
        _ => None,
    }
}
