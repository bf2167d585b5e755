//! Findings of several clusters in little memory, in the order of a report.

use std::{
    collections::BTreeMap,
    io::{self, BufWriter, Read as _, Write},
    sync::{Arc, mpsc},
    thread,
};

use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};
use memchr::{memchr, memmem};

use crate::{model::Severity, output::wire::Finding};

/// What a report is sorted by: the worst first, then by the rule.
pub(super) type Rank = (Option<Severity>, String);

/// Findings by rank, compressed: most say the same of another object.
#[derive(Debug, Default)]
pub(super) struct PackedFindings {
    blocks: BTreeMap<Rank, Vec<Arc<Vec<u8>>>>,
    number: usize,
}

/// Writer of the findings of one rank. The encoder clears a buffer of its own at each write, and JSON is written in very
/// small ones.
type BlockWriter = BufWriter<ZlibEncoder<Vec<u8>>>;

/// Stands for the name of the object, which each finding repeats many times: without it, most of a finding is what the
/// one before it says. JSON escapes such a character.
const NAME: u8 = 1;
/// Ends the name before a finding.
const END_OF_NAME: u8 = 2;
/// Number of findings that are unpacked at once.
const OF_BLOCK: usize = 128;
/// Length of the shortest name for which that is worth it.
const SHORTEST: usize = 4;

impl PackedFindings {
    /// Packs findings, which keep their order within a rank.
    ///
    /// # Panics
    /// Never: memory takes what is written.
    pub(super) fn new(findings: impl IntoIterator<Item = Finding>) -> Self {
        let mut packed = Self::default();
        let mut writers: BTreeMap<Rank, (BlockWriter, usize)> = BTreeMap::new();
        let (mut line, mut name) = (Vec::new(), Vec::new());
        for finding in findings {
            packed.number += 1;
            let rank = rank(&finding);
            let (writer, number) = writers.entry(rank.clone()).or_insert_with(|| {
                (BufWriter::new(ZlibEncoder::new(Vec::new(), Compression::default())), 0)
            });
            line.clear();
            serde_json::to_writer(&mut line, &finding).expect("because it is written to memory");
            name.clear();
            serde_json::to_writer(&mut name, &finding.object.name)
                .expect("because it is written to memory");
            let name = name.get(1..name.len() - 1).filter(|it| it.len() >= SHORTEST);
            pack(&line, name.unwrap_or_default(), writer).expect("because it is written to memory");
            *number += 1;
            if *number == OF_BLOCK
                && let Some((writer, _)) = writers.remove(&rank)
            {
                packed.add_block(rank, writer);
            }
        }
        for (rank, (writer, _)) in writers {
            packed.add_block(rank, writer);
        }
        packed
    }

    fn add_block(&mut self, rank: Rank, writer: BlockWriter) {
        let encoder = writer.into_inner().expect("because it is written to memory");
        let mut block = encoder.finish().expect("because it is written to memory");
        block.shrink_to_fit();
        self.blocks.entry(rank).or_default().push(Arc::new(block));
    }

    /// Returns how many they are.
    pub(super) fn len(&self) -> usize {
        self.number
    }

    /// Returns the ranks that they have.
    pub(super) fn ranks(&self) -> impl Iterator<Item = &Rank> {
        self.blocks.keys()
    }

    /// Returns those of one rank.
    pub(super) fn of(&self, rank: &Rank) -> Vec<Finding> {
        self.blocks.get(rank).into_iter().flatten().flat_map(|it| unpack(it)).collect()
    }

    /// Replaces those of some rules by what comes of them.
    pub(super) fn change(
        &mut self,
        is_concerned: impl Fn(&str) -> bool,
        mut change: impl FnMut(&mut [Finding]),
    ) {
        let concerned = self.ranks().filter(|it| is_concerned(&it.1)).cloned();
        for rank in concerned.collect::<Vec<_>>() {
            let mut findings = self.of(&rank);
            change(&mut findings);
            self.number -= findings.len();
            self.blocks.remove(&rank);
            self.add(findings);
        }
    }

    /// Adds findings of ranks that are not there yet.
    pub(super) fn add(&mut self, findings: impl IntoIterator<Item = Finding>) {
        let Self { blocks, number } = Self::new(findings);
        self.blocks.extend(blocks);
        self.number += number;
    }
}

/// Returns what a report sorts a finding by.
pub(super) fn rank(finding: &Finding) -> Rank {
    (Severity::parse(&finding.severity), finding.id.clone())
}

/// Merges findings that are in the order of a report with more of them.
pub(super) fn merged<'a>(
    findings: impl Iterator<Item = Finding> + 'a,
    more: impl Iterator<Item = Finding> + 'a,
) -> impl Iterator<Item = Finding> + 'a {
    let (mut findings, mut more) = (findings.peekable(), more.peekable());
    std::iter::from_fn(move || match (findings.peek(), more.peek()) {
        (Some(one), Some(other)) if rank(other) < rank(one) => more.next(),
        (Some(_), _) => findings.next(),
        (None, _) => more.next(),
    })
}

/// Writes a line: the name, and the finding without it.
fn pack(line: &[u8], name: &[u8], writer: &mut impl Write) -> io::Result<()> {
    writer.write_all(name)?;
    writer.write_all(&[END_OF_NAME])?;
    let mut rest = 0;
    if !name.is_empty() {
        for at in memmem::find_iter(line, name) {
            writer.write_all(&line[rest..at])?;
            writer.write_all(&[NAME])?;
            rest = at + name.len();
        }
    }
    writer.write_all(&line[rest..])?;
    writer.write_all(b"\n")
}

fn unpack(block: &[u8]) -> Vec<Finding> {
    let mut lines = Vec::new();
    ZlibDecoder::new(block).read_to_end(&mut lines).expect("because it was written here");
    let mut whole = Vec::new();
    let finding = |line: &[u8]| {
        let end = memchr(END_OF_NAME, line).expect("because each line begins with a name");
        let (name, mut rest) = (&line[..end], &line[end + 1..]);
        whole.clear();
        while let Some(at) = memchr(NAME, rest) {
            whole.extend_from_slice(&rest[..at]);
            whole.extend_from_slice(name);
            rest = &rest[at + 1..];
        }
        whole.extend_from_slice(rest);
        serde_json::from_slice(&whole).expect("because it was written here")
    };
    lines.split(|it| *it == b'\n').filter(|it| !it.is_empty()).map(finding).collect()
}

/// Returns the findings of several clusters by rank, and by cluster within each. While some are printed, the next are
/// unpacked.
pub(super) fn in_order<'a>(
    clusters: impl Iterator<Item = &'a PackedFindings>,
) -> impl Iterator<Item = Finding> {
    let mut by_rank: BTreeMap<&Rank, Vec<Arc<Vec<u8>>>> = BTreeMap::new();
    for cluster in clusters {
        for (rank, blocks) in &cluster.blocks {
            by_rank.entry(rank).or_default().extend(blocks.iter().map(Arc::clone));
        }
    }
    let blocks: Vec<_> = by_rank.into_values().flatten().collect();
    let (send, receive) = mpsc::sync_channel(0);
    thread::spawn(move || {
        blocks.into_iter().map(|it| unpack(&it)).try_for_each(|it| send.send(it))
    });
    receive.into_iter().flatten()
}
