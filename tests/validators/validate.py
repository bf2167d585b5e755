"""Judges reports by tools that know nothing of this program.

validate.py FOLDER JUNIT_XSD SARIF_SCHEMA   the files of a folder, by the ends of their names
validate.py --judged FILE                   what Sarif.Multitool found
"""

import csv
import html.parser
import json
import pathlib
import sys

FORMULA = "=+-@\t\r\n"
# What a report consists of; anything else comes from a text of the cluster.
TAGS = {"h2", "p", "br", "table", "thead", "tbody", "tr", "th", "td", "code", "ul", "li"}


class Page(html.parser.HTMLParser):
    """The tags of a page, and how many cells its rows have."""

    def __init__(self):
        super().__init__()
        self.tags, self.rows = set(), []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append(0)
        if tag in ("td", "th"):
            self.rows[-1] += 1


def judge_csv(path):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file, strict=True))
    assert all(len(row) == len(rows[0]) for row in rows), "rows of different lengths"
    cells = [cell for row in rows for cell in row]
    assert not any(cell[:1] and cell[0] in FORMULA for cell in cells), "a formula"
    return len(rows) - 1


def judge_markdown(path):
    import cmarkgfm

    text = path.read_text(encoding="utf-8")
    assert len(text) < 60_000, f"{len(text)} characters"
    page = Page()
    page.feed(cmarkgfm.github_flavored_markdown_to_html(text))
    assert page.tags <= TAGS, page.tags - TAGS
    # One more where the report is about several clusters.
    assert set(page.rows) <= {8 if path.stem == "clusters" else 7}, page.rows
    return max(len(page.rows) - 1, 0)


def judge_openmetrics(path):
    from prometheus_client import openmetrics, parser
    import prometheus_client.openmetrics.parser

    text = path.read_text(encoding="utf-8")
    families = list(openmetrics.parser.text_string_to_metric_families(text))
    assert {family.type for family in families} == {"gauge"}, families
    samples = [sample for family in families for sample in family.samples]
    assert all(sample.timestamp is None for sample in samples), "a timestamp"
    older = [sample for family in parser.text_string_to_metric_families(text) for sample in family.samples]
    told = lambda samples: sorted((it.name, sorted(it.labels.items()), it.value) for it in samples)
    assert told(older) == told(samples), "the older format reads something else"
    return int(sum(it.value for it in samples if it.name == "kubectl_storage_findings"))


def main(folder, junit, sarif):
    import jsonschema
    import prometheus_client.parser
    import xmlschema

    suites = xmlschema.XMLSchema(junit)
    log = jsonschema.validators.validator_for(json.load(open(sarif)))(json.load(open(sarif)))

    def judge_junit(path):
        suites.validate(str(path))
        return int(suites.to_dict(str(path))["@failures"])

    def judge_sarif(path):
        report = json.loads(path.read_text(encoding="utf-8"))
        errors = [error.message for error in log.iter_errors(report)]
        assert not errors, errors[:3]
        return sum(len(run["results"]) for run in report["runs"])

    judges = {
        ".csv": judge_csv,
        ".md": judge_markdown,
        ".om": judge_openmetrics,
        ".xml": judge_junit,
        ".sarif": judge_sarif,
    }
    for end, judge in judges.items():
        paths = sorted(pathlib.Path(folder).glob(f"*{end}"))
        assert paths, f"no file ends in {end}"
        found = 0
        for path in paths:
            try:
                found += judge(path)
            except Exception as error:
                raise SystemExit(f"{path}: {error}")
        print(f"{end}: {len(paths)} files, {found} findings")


def judged(path):
    # Utf-8 with a mark.
    log = json.loads(pathlib.Path(path).read_text(encoding="utf-8-sig"))
    found = [
        f"{result['ruleId']}: {result['message'].get('text') or result['message'].get('arguments')}"
        for run in log["runs"]
        for result in run.get("results", [])
    ]
    if found:
        raise SystemExit("\n".join(found[:20]))
    print("Sarif.Multitool: nothing found")


if __name__ == "__main__":
    judged(sys.argv[2]) if sys.argv[1] == "--judged" else main(*sys.argv[1:])
