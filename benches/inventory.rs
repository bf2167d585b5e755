//! What a listing of a million disks costs beside the dumps of ten clusters: little more than its bare parse.
//!
//! `cargo bench --bench inventory`; docs/benchmarks.md explains what is measured.

mod generate;
mod measure;

use std::{
    fs::File,
    io::{self, BufReader, BufWriter, Write as _},
    path::Path,
    process::{ExitCode, Stdio},
    time::{Duration, Instant},
};

use clap::Parser;
use serde::de::{Deserializer as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Value, json};

use generate::{Mix, Population, Size, write_objects};
use measure::{Run, Runs, Verdict, end, mebibytes, run, say, seconds, tool};

/// How much longer than a bare parse the listing may take.
const LONGER: f64 = 1.5;
/// Bytes for each disk that is left over: unattached, made by Kubernetes, and named by nothing.
const OF_DISK: u64 = 1000;
/// Bytes for each row, by which another row is known that is about the same disk.
const OF_ROW: u64 = 16;
/// Bytes for each volume of the clusters: what they name is kept until the listing is read.
const OF_VOLUME: u64 = 600;
/// How long a disk may take that is reported, once it is read.
const OF_FINDING: Duration = Duration::from_micros(50);
/// A rule that nearly nothing breaks: an audit by it reads as much, and reports nothing.
const QUIET: [&str; 2] = ["--rule", "cluster-identity-missing"];
/// How often each is run: the fastest counts, as others use the machine, too.
const ROUNDS: usize = 3;

/// Compares the disks of a provider with made-up clusters.
#[derive(Debug, Parser)]
struct Args {
    /// Clusters
    #[arg(long, default_value_t = 10)]
    clusters: usize,
    /// Volumes of each
    #[arg(long, default_value_t = 10_000)]
    volumes: usize,
    /// Disks of the listing
    #[arg(long, default_value_t = 1_000_000)]
    disks: usize,
    /// What cargo passes to every bench
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    end("inventory", bench(&Args::parse()))
}

fn bench(args: &Args) -> io::Result<ExitCode> {
    let folder = tempfile::tempdir()?;
    let clusters = folder.path().join("clusters");
    std::fs::create_dir(&clusters)?;
    let mut populations = Vec::new();
    for seed in 0..args.clusters {
        let volumes = args.volumes;
        let size = Size { pods: volumes, volumes, claims: volumes, mix: Mix::Usual };
        let population = Population { seed: seed as u64, ..size.population() };
        write_objects(population.objects(), &clusters.join(format!("cluster-{seed}.ndjson")))?;
        populations.push(population);
    }
    let mut verdict = Verdict::default();
    let audit = |listing, rules: &[&str]| audit(&clusters, listing, rules);

    let listing = folder.path().join("usual.json");
    let (_, reported) = Listing::write(&listing, &populations, args.disks, Account::Usual)?;
    let (mut bare, mut alone, mut both) = (Duration::MAX, Runs::default(), Runs::default());
    for _ in 0..ROUNDS {
        bare = bare.min(parse(&listing)?);
        alone.0.push(audit(None, &[])?);
        both.0.push(audit(Some(&listing), &[])?);
    }
    say(&told(&listing, args.disks, reported, reported)?);
    longer(&mut verdict, "more than the dumps alone", (&alone, &both), bare);
    larger(&mut verdict, args, reported, (&alone, &both));

    let listing = folder.path().join("left.json");
    let (left, reported) = Listing::write(&listing, &populations, args.disks, Account::Left)?;
    let (mut bare, mut quiet, mut read, mut both) =
        (Duration::MAX, Runs::default(), Runs::default(), Runs::default());
    for _ in 0..ROUNDS {
        bare = bare.min(parse(&listing)?);
        quiet.0.push(audit(None, &QUIET)?);
        read.0.push(audit(Some(&listing), &QUIET)?);
        both.0.push(audit(Some(&listing), &[])?);
    }
    say(&told(&listing, args.disks, left, reported)?);
    longer(&mut verdict, "more where nothing is reported", (&quiet, &read), bare);
    larger(&mut verdict, args, left, (&quiet, &read));
    let taken = both.fastest().saturating_sub(alone.fastest());
    let more = taken.saturating_sub(read.fastest().saturating_sub(quiet.fastest()));
    let each = more / u32::try_from(reported.max(1)).unwrap_or(u32::MAX);
    let (each, bound) = (each.as_micros(), OF_FINDING.as_micros());
    verdict.bound(
        &format!("{} more where all are reported: {each} µs each (at most {bound})", seconds(more)),
        each <= bound,
    );
    larger(&mut verdict, args, left, (&alone, &both));
    Ok(verdict.exit())
}

fn told(listing: &Path, disks: usize, left: u64, reported: u64) -> io::Result<String> {
    let size = mebibytes(std::fs::metadata(listing)?.len());
    Ok(format!("{size} of {disks} disks, {left} left over, {reported} of these reported"))
}

/// Holds what a listing adds against a bare parse of it.
fn longer(verdict: &mut Verdict, what: &str, (without, with): (&Runs, &Runs), bare: Duration) {
    let (without, with) = (without.fastest(), with.fastest());
    let more = with.saturating_sub(without);
    let ratio = more.as_secs_f64() / bare.as_secs_f64();
    let [more, bare] = [more, bare].map(seconds);
    let of = format!("{} instead of {}", seconds(with), seconds(without));
    let told = format!("{more} {what} ({of}), a bare parse {bare}: {ratio:.2} (at most {LONGER})");
    verdict.bound(&told, ratio <= LONGER);
}

/// Holds the memory that a listing adds against what is left over of it, and what the clusters name.
fn larger(verdict: &mut Verdict, args: &Args, left: u64, (without, with): (&Runs, &Runs)) {
    let volumes = (args.clusters * args.volumes) as u64;
    let added = OF_DISK * left + OF_ROW * args.disks as u64 + OF_VOLUME * volumes;
    let (peak, bound) = (with.peak(), without.peak() + added);
    verdict.bound(&format!("memory {} of {}", mebibytes(peak), mebibytes(bound)), peak <= bound);
}

/// Whose the disks are that no cluster of the comparison names.
#[derive(Clone, Copy)]
enum Account {
    /// Machines have most, people some, and two of a hundred are left of the clusters.
    Usual,
    /// A fifth of all is left: half of that of the clusters, half of clusters that are not given.
    Left,
}

/// A listing of AWS that is being written.
struct Listing {
    file: BufWriter<File>,
    rows: usize,
    left: u64,
    reported: u64,
}

impl Listing {
    /// Writes a listing with every disk of these clusters; returns how many are left over, and are reported.
    fn write(
        path: &Path,
        clusters: &[Population],
        disks: usize,
        account: Account,
    ) -> io::Result<(u64, u64)> {
        let file = BufWriter::new(File::create(path)?);
        let mut listing = Self { file, rows: 0, left: 0, reported: 0 };
        listing.file.write_all(b"{\"Volumes\": [\n")?;
        for (number, cluster) in clusters.iter().enumerate() {
            for index in 0..cluster.volumes {
                if cluster.driver(index).name == "ebs.csi.aws.com" {
                    listing.named(cluster, number, index)?;
                }
            }
        }
        while listing.rows < disks {
            listing.other(account, clusters.len())?;
        }
        listing.file.write_all(b"\n]}\n")?;
        listing.file.flush()?;
        Ok((listing.left, listing.reported))
    }

    /// Writes a disk that a cluster names, attached to the node that has it.
    fn named(&mut self, cluster: &Population, number: usize, index: usize) -> io::Result<()> {
        let node = cluster.roll("node", index % cluster.nodes());
        let machine = (index < cluster.stateful_pods()).then_some(node);
        let tags = of_claim(&cluster.volume_name(index), index, &format!("cluster-{number}"));
        self.row(&cluster.handle(index, cluster.driver(index)), machine, &tags)
    }

    /// Writes another disk.
    fn other(&mut self, account: Account, clusters: usize) -> io::Result<()> {
        let number = self.rows;
        let handle = format!("vol-0ff{number:014x}");
        let uid = format!(
            "{:08x}-1111-4222-8333-{number:012x}",
            number.wrapping_mul(2_654_435_761) & 0xffff_ffff
        );
        let of_claim = |cluster: &str| of_claim(&format!("pvc-{uid}"), number, cluster);
        let of_people = [("Name".to_owned(), format!("disk of people {number}"))];
        let machine = Some(number as u64);
        match (account, number % 100) {
            (_, 0..=59) => self.row(&handle, machine, &of_claim("elsewhere")),
            (Account::Usual, 60..=79) => self.row(&handle, machine, &of_people),
            (Account::Usual, 80..=97) | (Account::Left, 60..=79) => {
                self.row(&handle, None, &of_people)
            }
            (Account::Left, 80..=89) => {
                self.left += 1;
                self.row(&handle, None, &of_claim("elsewhere"))
            }
            _ => {
                self.left += 1;
                self.reported += 1;
                let cluster = number / 100 % clusters.max(1);
                self.row(&handle, None, &of_claim(&format!("cluster-{cluster}")))
            }
        }
    }

    fn row(
        &mut self,
        handle: &str,
        machine: Option<u64>,
        tags: &[(String, String)],
    ) -> io::Result<()> {
        let attachments = machine.map(|machine| {
            json!({
                "AttachTime": "2026-03-01T09:00:00+00:00", "Device": "/dev/xvdba",
                "InstanceId": format!("i-{machine:017x}"), "State": "attached", "VolumeId": handle,
                "DeleteOnTermination": false,
            })
        });
        let tags = tags.iter().map(|(key, value)| json!({"Key": key, "Value": value}));
        let row = json!({
            "Attachments": attachments.into_iter().collect::<Vec<_>>(),
            "AvailabilityZone": "eu-central-1a", "CreateTime": "2026-02-01T08:30:00.123000+00:00",
            "Encrypted": true, "Iops": 3000, "MultiAttachEnabled": false, "Size": 20,
            "KmsKeyId": "arn:aws:kms:eu-central-1:123456789012:key/0d990263-7d7e-4a1b-8a9b-6b9d2f1c3a5e",
            "SnapshotId": "", "State": if machine.is_some() { "in-use" } else { "available" },
            "Tags": tags.collect::<Vec<_>>(), "Throughput": 125, "VolumeId": handle, "VolumeType": "gp3",
        });
        if self.rows > 0 {
            self.file.write_all(b",\n")?;
        }
        self.rows += 1;
        serde_json::to_writer(&mut self.file, &row).map_err(io::Error::from)
    }
}

/// Returns the tags of a disk that a driver made for a claim.
fn of_claim(volume: &str, number: usize, cluster: &str) -> Vec<(String, String)> {
    let tags = [
        ("CSIVolumeName", volume),
        ("ebs.csi.aws.com/cluster", "true"),
        (&format!("kubernetes.io/cluster/{cluster}"), "owned"),
        ("kubernetes.io/created-for/pv/name", volume),
        ("kubernetes.io/created-for/pvc/name", &format!("data-{number}")),
        ("kubernetes.io/created-for/pvc/namespace", "shop"),
    ];
    tags.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec()
}

/// Reads each row of a listing into a value of its own, and does nothing with it.
fn parse(listing: &Path) -> io::Result<Duration> {
    struct Answer;
    impl<'de> Visitor<'de> for Answer {
        type Value = usize;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an answer")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<usize, A::Error> {
            let mut count = 0;
            while rows.next_element::<Value>()?.is_some() {
                count += 1;
            }
            Ok(count)
        }

        fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<usize, A::Error> {
            struct Rows;
            impl<'de> serde::de::DeserializeSeed<'de> for Rows {
                type Value = usize;

                fn deserialize<D: serde::Deserializer<'de>>(
                    self,
                    rows: D,
                ) -> Result<usize, D::Error> {
                    rows.deserialize_seq(Answer)
                }
            }
            members.next_key::<IgnoredAny>()?;
            members.next_value_seed(Rows)
        }
    }
    let began = Instant::now();
    let file = BufReader::with_capacity(256 << 10, File::open(listing)?);
    let rows = serde_json::Deserializer::from_reader(file).deserialize_map(Answer)?;
    match rows {
        0 => Err(io::Error::other("the listing has no rows")),
        _ => Ok(began.elapsed()),
    }
}

fn audit(clusters: &Path, listing: Option<&Path>, rules: &[&str]) -> io::Result<Run> {
    let state = tempfile::tempdir()?;
    let mut command = tool(state.path());
    command
        .args(["audit", "-o", "json", "--complete", "all"])
        .args(rules)
        .arg("--each")
        .arg(clusters);
    if let Some(listing) = listing {
        command.arg("--inventory").arg(listing);
    }
    let run = run(command.stdout(Stdio::null()).stderr(Stdio::null()))?;
    match run.status.code() {
        Some(0 | 4) => Ok(run),
        _ => Err(io::Error::other(format!("{command:?} ended with {}", run.status))),
    }
}
