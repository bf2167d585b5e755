//! LUNs without a driver: volumes and pods with the sources `iscsi` and `fc`.

use std::borrow::Cow;

use super::basis::{BLOCK, undecided};
use crate::drivers::{
    Destruction, Family, Fate, Letters, Name, Part, Place, Provisioner, Reference, Snapshots,
};

/// The sources `iscsi` and `fc`.
pub static FAMILY: Family = Family {
    id: "block-in-tree",
    title: "iSCSI and Fibre Channel without a driver (sources iscsi, fc)",
    names: &[Name::Is("iscsi"), Name::Is("fc")],
    identity: "iSCSI: the name of the target and the LUN, whose portals may have several addresses; \
               Fibre Channel: a WWN and the LUN, or a WWID, which are not compared with each other",
    used,
    deletion: |_| {
        let why = "no controller deletes volumes of the sources iscsi and fc";
        Destruction::Fails(Cow::Borrowed(why))
    },
    destroys: "nothing",
    snapshots: Snapshots::all(Fate::None, "there are none"),
    clones: Fate::None,
    provisioner: Provisioner::NOBODY,
    sources: &["kubernetes v1.36.3: pkg/volume/iscsi/iscsi.go, pkg/volume/fc/fc.go have no deleter"],
    ..BLOCK
};

/// The space of LUNs that are reached through iSCSI.
const ISCSI: &str = "iSCSI LUN";

/// The space of LUNs that are reached through Fibre Channel.
const FC: &str = "Fibre Channel LUN";

/// A LUN of a target: targets have one name everywhere, portals may have several.
pub(super) fn lun<'a>(portal: &'a str, target: &str, lun: &str) -> Place<'a> {
    let portal = portal.strip_suffix(":3260").unwrap_or(portal);
    let portal = match portal {
        "" => Part::Unknown("the portal of one of them is unknown"),
        portal => Part::Named(portal.into()),
    };
    Place::device(ISCSI, format!("{target},{lun}")).letters(Letters::Alike).of(portal)
}

/// Reads `PORTAL,TARGET,LUN`, `WWN,WWN:LUN` and `WWID,WWID`: each WWN is a way to the LUN.
fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    if reference.driver == "iscsi" {
        return vec![match reference.fields(',')[..] {
            [portal, target, number] if !target.is_empty() => lun(portal, target, number),
            _ => undecided(ISCSI, reference),
        }];
    }
    let places: Vec<_> = match reference.handle.rsplit_once(':') {
        Some((wwns, lun)) => {
            let port = |wwn: &'a str| Part::Named(Cow::Borrowed(wwn));
            wwns.split(',').map(|wwn| Place::device(FC, lun).of(port(wwn))).collect()
        }
        None => reference
            .fields(',')
            .into_iter()
            .map(|wwid| Place::device("Fibre Channel WWID", wwid).letters(Letters::Alike))
            .collect(),
    };
    places
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{lies, places};

    #[test]
    fn a_lun_has_several_ways_to_it() {
        for (driver, mine, other, expected) in [
            ("iscsi", "10.0.0.1:3260,iqn.a:t,0", "10.0.0.1,iqn.a:t,0", "equal"),
            ("iscsi", "10.0.0.1:3260,iqn.a:t,0", "10.0.0.2:3260,iqn.a:t,0", "equal?"),
            ("iscsi", "10.0.0.1:3260,iqn.a:t,0", "10.0.0.1:3260,iqn.a:t,1", "apart"),
            ("iscsi", "10.0.0.1:3260,iqn.a:t,0", "10.0.0.1:3260,iqn.a:u,0", "apart"),
            ("iscsi", "10.0.0.1:3260,iqn.a:t,0", "odd", "equal?"),
            ("fc", "5006a,5006b:0", "5006b,5006c:0", "equal"),
            ("fc", "5006a:0", "5006c:0", "equal?"),
            ("fc", "5006a:0", "5006a:1", "apart"),
            ("fc", "3600a,3600b", "3600b", "equal"),
            ("fc", "3600a", "3600b", "apart"),
        ] {
            let (mine, other) = (places(driver, mine, &[]), places(driver, other, &[]));
            assert_eq!(lies(&mine, &other), expected, "{mine:?} {other:?}");
        }
    }
}
