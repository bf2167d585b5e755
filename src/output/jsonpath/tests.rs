//! Templates, and what kubectl prints for them.

use serde_json::Value;

use super::*;
use crate::output::{columns::Columns, order::SortPath, wire::Finding};

const DATA: &str = r#"{"apiVersion": "v1",
     "kind": "Thing",
     "metadata": {"name": "t", "namespace": "default", "annotations": {"a.b/c": "dotted"}},
     "rows": [{"metadata": {"name": "one", "labels": {"app.kubernetes.io/name": "x"}}, "status": {"capacity": {"cpu": "4"}, "n": 3, "ok": true, "addresses": [{"type": "a", "ip": "1.1.1.1"}, {"type": "b", "ip": "2.2.2.2"}]}},
        {"metadata": {"name": "two"}, "status": {"capacity": {"cpu": "8"}, "n": 10, "ok": false, "nil": null, "addresses": [{"type": "c", "ip": "3.3.3.3"}]}},
        {"metadata": {"name": "three"}, "status": {"capacity": {"cpu": "16"}}}],
     "users": [{"name": "myself", "user": {}}, {"name": "e2e", "user": {"username": "admin", "password": "secret"}}],
     "nums": [1, 2, 3, 4, 5],
     "fl": [1.0, 0.1, 1000000.0, 1e+20, 1e+21, 123456789.5, 1e-07, -2.5, 123456.0],
     "nil": null,
     "empty": [],
     "text": "héllo",
     "nested": [[1, 2], [3, 4]]}"#;

/// Every expectation here was printed by `kubectl get thing t -o jsonpath=…`, version 1.32, from a server that served `DATA`;
/// only the order of an object's fields, which kubectl leaves to chance, is ours.
const AS_KUBECTL: &[(&str, &str)] = &[
    ("{.kind}", "Thing"),
    ("kind is {.kind}", "kind is Thing"),
    ("{$.kind}", "Thing"),
    ("{@.kind}", "Thing"),
    ("{ .kind }", "Thing"),
    ("{['kind']}", "Thing"),
    ("{$['metadata']['name']}", "t"),
    (
        "{.rows[0].status}",
        r#"{"addresses":[{"ip":"1.1.1.1","type":"a"},{"ip":"2.2.2.2","type":"b"}],"capacity":{"cpu":"4"},"n":3,"ok":true}"#,
    ),
    ("{.rows[*].metadata.name}", "one two three"),
    ("{.rows[0].metadata.name}{.rows[1].metadata.name}", "onetwo"),
    (
        "{.rows[*]['metadata.name','status.capacity']}",
        r#"one two three {"cpu":"4"} {"cpu":"8"} {"cpu":"16"}"#,
    ),
    ("{.rows[*]['metadata.name', 'status.n']}", "one two three 3 10"),
    (r#"{.users[?(@.name=="e2e")].user.password}"#, "secret"),
    ("{.users[?(@.name == 'e2e' )].name}", "e2e"),
    (r#"{.users[?("e2e"==@.name)].name}"#, "e2e"),
    (r#"{.users[?(@.name!="e2e")].name}"#, "myself"),
    (r#"{.users[?(@.name>="e2f")].name}"#, "myself"),
    (r#"{.users[?(@.name=="(a)")].name}"#, ""),
    (r#"{.users[?(@.name=="a]b")].name}"#, ""),
    ("{.users[?(@.name)].name}", "myself e2e"),
    ("{.users[?(@.user.username)].name}", "e2e"),
    ("{.rows[?(@.status.n>5)].metadata.name}", "two"),
    ("{.rows[?(@.status.n<=3)].metadata.name}", "one"),
    ("{.rows[?(@.status.ok==true)].metadata.name}", "one"),
    ("{.rows[?(@.status.nil)].metadata.name}", "two"),
    (r#"{.rows[?(@.metadata.name=="one")].status.addresses[?(@.type=="b")].ip}"#, "2.2.2.2"),
    ("{.nums[?(@>2)]}", "3 4 5"),
    ("{.nums[?(@ != 2)]}", "1 3 4 5"),
    ("{.fl[?(@>1.0)]}", "1e+06 1e+20 1e+21 1.234567895e+08 123456"),
    ("{.nested[?(@[0]==1)]}", "[1,2]"),
    (
        "{range .rows[*]}[{.metadata.name}, {.status.capacity}] {end}",
        r#"[one, {"cpu":"4"}] [two, {"cpu":"8"}] [three, {"cpu":"16"}] "#,
    ),
    (
        r#"{range .rows[*]}{.metadata.name}{"\t"}{.status.capacity.cpu}{"\n"}{end}"#,
        "one\t4\ntwo\t8\nthree\t16\n",
    ),
    (r"{range .rows[*]}{.metadata.name}{'\t'}{.status.n}{'\n'}{end}", "one\t3\ntwo\t10\nthree\t\n"),
    (
        "{range .rows[*]}{.metadata.name}:{range .status.addresses[*]}<{.ip}>{end};{end}done",
        "one:<1.1.1.1><2.2.2.2>;two:<3.3.3.3>;three:;done",
    ),
    ("{range .users[*].name}{@},{end}", "myself,e2e,"),
    ("{range .users[*]}{$.name}{.kind}{end}", "myselfe2e"),
    ("{range .nope[*]}x{.y}{end}z", "z"),
    ("{range .users[*]}{end}x", "x"),
    ("{..name}", "t one two three myself e2e"),
    ("{...name}", "t one two three myself e2e"),
    ("{.users..password}", "secret"),
    ("{.nested..}", "[[1,2],[3,4]] [1,2] [3,4]"),
    (
        "{.metadata..}",
        r#"{"annotations":{"a.b/c":"dotted"},"name":"t","namespace":"default"} {"a.b/c":"dotted"} dotted t default"#,
    ),
    ("{.rows[*]..ip}", "1.1.1.1 2.2.2.2 3.3.3.3"),
    ("{.nums[0]}", "1"),
    ("{.nums[-1]}", "5"),
    ("{.nums[-1:]}", "5"),
    ("{.nums[0,2]}", "1 3"),
    ("{.nums[0, 2]}", "1 3"),
    ("{.nums[0,1:3,-1]}", "1 2 3 5"),
    ("{.nums[*,0]}", "1 2 3 4 5 1"),
    ("{.nums[1:3]}", "2 3"),
    ("{.nums[::2]}", "1 3 5"),
    ("{.nums[:2]}", "1 2"),
    ("{.nums[3:]}", "4 5"),
    ("{.nums[-2:-1]}", "4"),
    ("{.nums[-3:]}", "3 4 5"),
    ("{.nums[2:2]}", ""),
    ("{.nums[9:9]}", ""),
    ("{.nested[*][*]}", "1 2 3 4"),
    ("{.nested[*]}", "[1,2] [3,4]"),
    ("{.nested[0]}", "[1,2]"),
    ("{.nums}", "[1,2,3,4,5]"),
    ("{.fl[*]}", "1 0.1 1e+06 1e+20 1e+21 1.234567895e+08 1e-07 -2.5 123456"),
    ("{.text}", "héllo"),
    ("{.empty}", "[]"),
    ("{.empty[*]}", ""),
    ("{.empty..}", ""),
    ("{.nil}", "null"),
    ("{.nil.x}", ""),
    ("{.nil[*]}", ""),
    ("{.nope}", ""),
    ("{.nope.x[0]}", ""),
    ("{.nope[?(@.x)]}", ""),
    ("{.nums.x}", ""),
    ("{.users['name']}", ""),
    (r"{.metadata.annotations.a\.b/c}", "dotted"),
    (r"{.metadata.annotations['a\.b/c']}", "dotted"),
    ("{.metadata.annotations['a.b/c']}", ""),
    (r"{.rows[*].metadata.labels.app\.kubernetes\.io/name}", "x"),
    ("{.metadata.annotations.*}", "dotted"),
    ("{.rows[0].metadata.*}", r#"{"app.kubernetes.io/name":"x"} one"#),
    ("{.rows.*.metadata.name}", "one two three"),
    ("{.kind .name}", ""),
    ("{.kind$.name}", ""),
    ("{true}{-5}{+5}{1.50}{5.}{'x'}", "true-551.55x"),
    (r#"{"a""b"}"#, "b"),
    ("{.users[*] 5}", "5 5"),
    (r#"{.users[*] "x"}"#, "x"),
    (r"{'it\'s'}", "it's"),
    (r#"{"\u00e9\x41\101"}"#, "éAA"),
    (r#"{"\"'"}"#, r#""'"#),
    ("abc}", "abc}"),
    ("{.kind}}", "Thing}"),
    (r#"a{""}b"#, "ab"),
];

/// What kubectl does here is an accident: an early end, a silent nothing or a refusal of something plain.
const KINDER_THAN_KUBECTL: &[(&str, &str)] = &[
    (r#"{"\\"}"#, r"\"),
    ("{.fl[?(@>1)]}", "1e+06 1e+20 1e+21 1.234567895e+08 123456"),
    ("{.nums[?(@==2.0)]}", "2"),
    ("{.nums[ 0 ]}", "1"),
    ("{.users[?(@.user.x[0])].name}", ""),
    ("{.nested[?(@[1])][0]}", "1 3"),
    ("{['metadata.annotations']['a\\.b/c']}", "dotted"),
    ("{['rows[0].metadata.name']}", "one"),
    ("{.nil[?(@.x)]}", ""),
    ("{range .users[*]}{.name} ", "myself e2e "),
];

fn data() -> Value {
    serde_json::from_str(DATA).expect("because it was written by hand, and carefully")
}

fn render(template: &str) -> Result<String, String> {
    let template = Template::parse(template).map_err(|error| error.to_string())?;
    let mut out = Vec::new();
    template.render(&data(), &mut out).map_err(|error| error.to_string())?;
    String::from_utf8(out).map_err(|error| error.to_string())
}

#[test]
fn renders_as_kubectl_renders() {
    for (template, expected) in AS_KUBECTL.iter().chain(KINDER_THAN_KUBECTL) {
        assert_eq!(render(template).as_deref(), Ok(*expected), "{template}");
    }
}

#[test]
fn renders_lists_as_json() {
    let cases = [
        ("{.rows[*].metadata.name}", "[\n    \"one\",\n    \"two\",\n    \"three\"\n]\n"),
        ("{.nope}", "[]\n"),
        ("n: {.nums[0]}", "[\n    \"n: \"\n]\n[\n    1\n]\n"),
        ("{range .users[*]}{.name}{end}", "[\n    \"myself\"\n]\n[\n    \"e2e\"\n]\n"),
        (
            "{.users[0]}",
            "[\n    {\n        \"name\": \"myself\",\n        \"user\": {}\n    }\n]\n",
        ),
    ];
    for (template, expected) in cases {
        let mut out = Vec::new();
        let parsed = Template::parse(template).expect("because kubectl takes it");
        parsed.render_json(&data(), &mut out).expect("because memory does not fail");
        assert_eq!(String::from_utf8_lossy(&out), expected, "{template}");
    }
}

#[test]
fn an_empty_list_does_not_hide_the_ones_after_it() {
    let value = serde_json::json!({"gap": [[1], [], [2]]});
    let path = JsonPath::parse(".gap[*][*]").expect("because it is one");
    assert_eq!(
        path.find(&value).expect("because these are lists"),
        [&Value::from(1), &Value::from(2)]
    );
}

#[test]
fn says_where_a_template_is_wrong() {
    let cases = [
        ("{.kind", 7, "unclosed action, expected `}`"),
        ("{\n.kind}", 2, "unclosed action, expected `}`"),
        ("é{", 3, "unclosed action, expected `}`"),
        ("{kind}", 2, "unrecognized identifier `kind`, fields begin with a dot"),
        ("{.kind x}", 8, "unrecognized identifier `x`, fields begin with a dot"),
        ("{.users range}", 9, "unrecognized identifier `range`, fields begin with a dot"),
        ("{truex}", 2, "unrecognized identifier `truex`, fields begin with a dot"),
        ("{end}", 2, "not in range, nothing to end"),
        ("{range .users[*]}{.name}{end}{end}", 31, "not in range, nothing to end"),
        ("{range .users[*]}{end .x}", 23, "unrecognized character `.`"),
        ("{.kind,.text}", 7, "unrecognized character `,`"),
        ("{(.kind)}", 2, "unrecognized character `(`"),
        ("{..*}", 4, "unrecognized character `*`"),
        ("{\t.kind}", 2, "unrecognized character `\t`"),
        ("{.}", 3, "field name is missing"),
        ("{.[0]}", 3, "field name is missing"),
        ("{['']}", 4, "field name is missing"),
        ("{['.kind']}", 4, "field name is missing"),
        ("{....name}", 4, "invalid multiple recursive descent"),
        ("{.nums[a]}", 8, "invalid array index `a`"),
        ("{.nums[]}", 8, "invalid array index ``"),
        ("{.nums[1:2:3:4]}", 8, "invalid array index `1:2:3:4`"),
        ("{.nums[::0]}", 8, "step must be > 0"),
        ("{.nums[::-1]}", 8, "step must be > 0"),
        ("{.nums[0}", 10, "unterminated array, expected `]`"),
        ("{.nums['a'x]}", 11, "unterminated array, expected `]`"),
        ("{.nums['a}", 8, "unterminated quoted string"),
        (r#"{["kind"]}"#, 3, "keys are quoted with single quotes, as in ['key']"),
        (r#"{"abc}"#, 2, "unterminated quoted string"),
        (r#"{"a\qb"}"#, 4, "invalid escape in quoted string"),
        (r#"{"\'"}"#, 3, "invalid escape in quoted string"),
        (r#"{"\ud800"}"#, 3, "invalid escape in quoted string"),
        (r#"{"\xff"}"#, 2, "invalid escape in quoted string"),
        (r#"{"\400"}"#, 3, "invalid escape in quoted string"),
        ("{1.2.3}", 2, "cannot parse number `1.2.3`"),
        ("{-}", 2, "cannot parse number `-`"),
        (
            r#"{.users[?(@.name=~"e.*")]}"#,
            17,
            "regular expressions are not supported, `=~` cannot be used",
        ),
        ("{.users[?(@.a=1)]}", 14, "unrecognized filter operator `=`"),
        ("{.users[?(!@.a)]}", 11, "unrecognized filter operator `!`"),
        (
            "{.users[?(@.a==1 && @.b==2)]}",
            18,
            "a filter holds one comparison, `&&` and `||` are not supported",
        ),
        (
            "{.users[?(@.a||@.b)]}",
            14,
            "a filter holds one comparison, `&&` and `||` are not supported",
        ),
        ("{.users[?(@.a==)]}", 16, "comparison has no right side"),
        ("{.users[?(@.a==1==2)]}", 17, "unterminated filter, expected `)]`"),
        ("{.users[?(@.a==1)", 17, "unterminated filter, expected `)]`"),
        ("{.users[?(@.a", 14, "unterminated filter, expected `)]`"),
    ];
    for (template, at, problem) in cases {
        let error = Template::parse(template).expect_err(template);
        assert_eq!((error.at, error.problem.to_string().as_str()), (at, problem), "{template}");
    }
    let deep = format!("{{{}", "[?(".repeat(100_000));
    assert_eq!(
        Template::parse(&deep).expect_err("because it is deep").problem,
        TemplateProblem::TooDeep
    );
}

#[test]
fn says_why_an_object_does_not_fit() {
    let cases = [
        ("{.nums[7]}", "array index out of bounds: index 7, length 5"),
        ("{.nums[-9]}", "array index out of bounds: index -9, length 5"),
        ("{.nums[:9]}", "array index out of bounds: index 8, length 5"),
        ("{.nums[9:]}", "array index out of bounds: index 9, length 5"),
        ("{.empty[0]}", "array index out of bounds: index 0, length 0"),
        ("{.nums[3:1]}", "starting index 3 is greater than ending index 1"),
        ("{.kind[0]}", "a string is not an array"),
        ("{.metadata[*]}", "an object is not an array"),
        ("{.metadata[?(@.x)]}", "an object is not an array"),
        (r#"{.rows[?(@.status.n=="3")]}"#, "cannot compare a number with a string"),
        (r#"{.users[?(@.user=="x")]}"#, "cannot compare an object with a string"),
        ("{.rows[?(@.status.nil==1)]}", "cannot compare null with a number"),
        ("{.rows[?(@.status.ok>false)]}", "cannot compare a boolean with a boolean"),
        ("{.rows[?(@.status.addresses[*].ip==1)]}", "can only compare one element at a time"),
    ];
    for (template, expected) in cases {
        assert_eq!(render(template), Err(expected.to_owned()), "{template}");
    }
}

#[test]
fn single_paths_may_leave_out_what_is_plain() {
    for text in [
        ".metadata.name",
        "metadata.name",
        "{.metadata.name}",
        "{metadata.name}",
        "$.metadata.name",
        "['metadata.name']",
    ] {
        let path = JsonPath::parse(text).expect(text);
        assert_eq!(
            path.find(&data()).expect("because a field cannot fail"),
            [&Value::from("t")],
            "{text}"
        );
    }
    let error = JsonPath::parse("{.a}{.b}").expect_err("because it is two");
    assert_eq!((error.at, error.problem), (4, TemplateProblem::NotOnePath));
    assert_eq!(JsonPath::parse(".a[x]").expect_err("because x is no index").at, 4);
    assert_eq!(JsonPath::parse("{.a.}").expect_err("because a name is missing").at, 5);
}

proptest::proptest! {
    #[test]
    fn never_panics(text in r#"[{}\[\]?()@$.,:*'"=<>!~&|\\ \n\-0-9axué]{0,24}"#) {
        if let Ok(template) = Template::parse(&text) {
            let _ = template.render(&data(), &mut std::io::sink());
        }
        if let Ok(path) = JsonPath::parse(&text) {
            let _ = path.find(&data());
        }
    }
}

#[test]
fn damaged_templates_are_rendered_or_refused() {
    let data: Value = serde_json::from_str(DATA).expect("it is JSON");
    let sound: Vec<_> = AS_KUBECTL.iter().map(|(it, _)| it.as_bytes().to_vec()).collect();
    crate::damage::hold("templates", &sound, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        if let Ok(template) = Template::parse(&text) {
            let _ = template.render(&data, &mut Vec::new());
        }
        if let Ok(columns) = Columns::parse(&format!("A:{text},B:{text}")) {
            let _ = columns.cells(&data);
        }
        let _ = SortPath::parse::<Finding>(&text, "finding");
    });
}
