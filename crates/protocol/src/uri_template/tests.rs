//! The RFC's own examples, what matches, what must not, and the way there and back.

use proptest::prelude::{Strategy, any, prop, proptest};

use super::*;

fn strings(list: &[&str]) -> Vec<String> {
    list.iter().map(|&item| item.to_owned()).collect()
}

/// The variables of RFC 6570, section 3.2.
fn rfc_vars() -> Vars {
    let mut vars = Vars::from_iter([
        ("dub", "me/too"),
        ("hello", "Hello World!"),
        ("half", "50%"),
        ("var", "value"),
        ("who", "fred"),
        ("base", "http://example.com/home/"),
        ("path", "/foo/bar"),
        ("v", "6"),
        ("x", "1024"),
        ("y", "768"),
        ("empty", ""),
    ]);
    vars.insert("count", strings(&["one", "two", "three"]));
    vars.insert("dom", strings(&["example", "com"]));
    vars.insert("list", strings(&["red", "green", "blue"]));
    vars.insert("empty_keys", VarValue::Pairs(Vec::new()));
    let keys = [("semi", ";"), ("dot", "."), ("comma", ",")];
    vars.insert(
        "keys",
        VarValue::Pairs(keys.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()),
    );
    vars
}

fn template(text: &str) -> UriTemplate {
    UriTemplate::parse(text).unwrap()
}

/// The variables of a match as `name=value`, lists in brackets; `-` for no match.
fn matched(text: &str, uri: &str) -> String {
    let Some(vars) = template(text).matches(uri) else { return "-".to_owned() };
    let shown = vars.iter().map(|(name, value)| match value {
        VarValue::Text(text) => format!("{name}={text}"),
        VarValue::List(list) => format!("{name}=[{}]", list.join("|")),
        VarValue::Pairs(pairs) => format!("{name}={pairs:?}"),
    });
    shown.collect::<Vec<_>>().join(" ")
}

/// RFC 6570, section 3.2: template and expansion.
const RFC_EXAMPLES: &[(&str, &str)] = &[
    ("{count}", "one,two,three"),
    ("{count*}", "one,two,three"),
    ("{/count}", "/one,two,three"),
    ("{/count*}", "/one/two/three"),
    ("{;count}", ";count=one,two,three"),
    ("{;count*}", ";count=one;count=two;count=three"),
    ("{?count}", "?count=one,two,three"),
    ("{?count*}", "?count=one&count=two&count=three"),
    ("{&count*}", "&count=one&count=two&count=three"),
    ("{var}", "value"),
    ("{hello}", "Hello%20World%21"),
    ("{half}", "50%25"),
    ("O{empty}X", "OX"),
    ("O{undef}X", "OX"),
    ("{x,y}", "1024,768"),
    ("{x,hello,y}", "1024,Hello%20World%21,768"),
    ("?{x,empty}", "?1024,"),
    ("?{x,undef}", "?1024"),
    ("?{undef,y}", "?768"),
    ("{var:3}", "val"),
    ("{var:30}", "value"),
    ("{list}", "red,green,blue"),
    ("{list*}", "red,green,blue"),
    ("{keys}", "semi,%3B,dot,.,comma,%2C"),
    ("{keys*}", "semi=%3B,dot=.,comma=%2C"),
    ("{+var}", "value"),
    ("{+hello}", "Hello%20World!"),
    ("{+half}", "50%25"),
    ("{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"),
    ("{+base}index", "http://example.com/home/index"),
    ("O{+empty}X", "OX"),
    ("O{+undef}X", "OX"),
    ("{+path}/here", "/foo/bar/here"),
    ("here?ref={+path}", "here?ref=/foo/bar"),
    ("{+x,hello,y}", "1024,Hello%20World!,768"),
    ("{+path,x}/here", "/foo/bar,1024/here"),
    ("{+path:6}/here", "/foo/b/here"),
    ("{+list}", "red,green,blue"),
    ("{+keys}", "semi,;,dot,.,comma,,"),
    ("{+keys*}", "semi=;,dot=.,comma=,"),
    ("{#var}", "#value"),
    ("{#hello}", "#Hello%20World!"),
    ("{#half}", "#50%25"),
    ("foo{#empty}", "foo#"),
    ("foo{#undef}", "foo"),
    ("{#x,hello,y}", "#1024,Hello%20World!,768"),
    ("{#path,x}/here", "#/foo/bar,1024/here"),
    ("{#path:6}/here", "#/foo/b/here"),
    ("{#list*}", "#red,green,blue"),
    ("{#keys*}", "#semi=;,dot=.,comma=,"),
    ("{.who}", ".fred"),
    ("{.who,who}", ".fred.fred"),
    ("{.half,who}", ".50%25.fred"),
    ("www{.dom*}", "www.example.com"),
    ("X{.var}", "X.value"),
    ("X{.empty}", "X."),
    ("X{.undef}", "X"),
    ("X{.var:3}", "X.val"),
    ("X{.list}", "X.red,green,blue"),
    ("X{.list*}", "X.red.green.blue"),
    ("X{.keys*}", "X.semi=%3B.dot=..comma=%2C"),
    ("X{.empty_keys}", "X"),
    ("X{.empty_keys*}", "X"),
    ("{/who}", "/fred"),
    ("{/who,who}", "/fred/fred"),
    ("{/half,who}", "/50%25/fred"),
    ("{/who,dub}", "/fred/me%2Ftoo"),
    ("{/var}", "/value"),
    ("{/var,empty}", "/value/"),
    ("{/var,undef}", "/value"),
    ("{/var,x}/here", "/value/1024/here"),
    ("{/var:1,var}", "/v/value"),
    ("{/list}", "/red,green,blue"),
    ("{/list*}", "/red/green/blue"),
    ("{/list*,path:4}", "/red/green/blue/%2Ffoo"),
    ("{/keys*}", "/semi=%3B/dot=./comma=%2C"),
    ("{;who}", ";who=fred"),
    ("{;half}", ";half=50%25"),
    ("{;empty}", ";empty"),
    ("{;v,empty,who}", ";v=6;empty;who=fred"),
    ("{;v,bar,who}", ";v=6;who=fred"),
    ("{;x,y,undef}", ";x=1024;y=768"),
    ("{;hello:5}", ";hello=Hello"),
    ("{;list}", ";list=red,green,blue"),
    ("{;keys*}", ";semi=%3B;dot=.;comma=%2C"),
    ("{?who}", "?who=fred"),
    ("{?half}", "?half=50%25"),
    ("{?x,y}", "?x=1024&y=768"),
    ("{?x,y,empty}", "?x=1024&y=768&empty="),
    ("{?x,y,undef}", "?x=1024&y=768"),
    ("{?var:3}", "?var=val"),
    ("{?list*}", "?list=red&list=green&list=blue"),
    ("{?keys}", "?keys=semi,%3B,dot,.,comma,%2C"),
    ("{?keys*}", "?semi=%3B&dot=.&comma=%2C"),
    ("{&who}", "&who=fred"),
    ("?fixed=yes{&x}", "?fixed=yes&x=1024"),
    ("{&x,y,empty}", "&x=1024&y=768&empty="),
    ("{&var:3}", "&var=val"),
    ("{&keys*}", "&semi=%3B&dot=.&comma=%2C"),
    ("res://\u{6d4b}/{var}", "res://%E6%B5%8B/value"),
];

#[test]
fn the_examples_of_the_rfc_expand_as_it_says() {
    let vars = rfc_vars();
    for (text, uri) in RFC_EXAMPLES {
        assert_eq!(template(text).expand(&vars), *uri, "{text}");
    }
}

#[test]
fn what_is_no_template_is_refused_with_its_place() {
    for (text, fault) in [
        ("a{b", "byte 1: an expression is not closed"),
        ("a}b", "byte 1: a } closes nothing"),
        ("{}", "names no variable"),
        ("{?}", "names no variable"),
        ("{=a}", "= is reserved"),
        ("{|a}", "| is reserved"),
        ("{a b}", "no variable name"),
        ("{a-b}", "no variable name"),
        ("{a..b}", "no variable name"),
        ("{,a}", ", is reserved"),
        ("{a,}", "no variable name"),
        ("{a:0}", "modifier"),
        ("{a:10000}", "modifier"),
        ("{a:x}", "modifier"),
        ("{a:}", "modifier"),
        ("{a:3*}", "no variable name"),
        ("{{a}}", "no variable name"),
        ("a b{c}", "byte 1"),
        ("a%zz", "percent-encode"),
        ("a\n", "byte 1"),
    ] {
        let error = UriTemplate::parse(text).unwrap_err();
        assert!(error.to_string().contains(fault) && !error.is_ambiguous(), "{text:?}: {error}");
    }
    assert!(UriTemplate::parse(&"a".repeat(MAX_TEMPLATE_BYTES + 1)).is_err());
    assert!(UriTemplate::parse(&"{a}/".repeat(MAX_VARIABLES + 1)).is_err());
}

#[test]
fn ambiguous_templates_are_refused() {
    for text in [
        "{a}{b}",
        "x/{a}{+b}",
        "{+a}{b}",
        "{+a}{/b}",
        "{/a}{/b}",
        "{/a*}{/b}",
        "{a}{.b}",
        "{#a}{?b}",
        "{?a}{&b}",
        "up{+path}{var}/here",
    ] {
        let error = UriTemplate::parse(text).unwrap_err();
        assert!(
            error.is_ambiguous() && error.to_string().contains("put a literal between"),
            "{text}: {error}"
        );
    }
    for text in ["{a}-{b}", "{a}{/b}", "{a}{?b}", "{+a}{?b}", "{/a*}{?b}{#c}", "{a}{;b}{?c}"] {
        assert!(UriTemplate::parse(text).is_ok(), "{text}");
    }
}

#[test]
fn a_uri_is_matched_back_into_variables() {
    for (text, uri, expected) in [
        ("notes://{user}/{id}", "notes://alice/7", "id=7 user=alice"),
        ("notes://{user}/{id}", "notes://alice/7/8", "-"),
        ("notes://{user}/{id}", "notes://alice/", "-"),
        ("notes://{user}/{id}", "notes://alice", "-"),
        ("notes://{user}/{id}", "other://alice/7", "-"),
        ("notes://{user}/{id}", "notes://zo%C3%AB/a%20b", "id=a b user=zoë"),
        ("notes://{user}/{id}", "notes://zoë/7", "id=7 user=zoë"),
        ("res://\u{6d4b}/{a}", "res://%E6%B5%8B/x", "a=x"),
        ("res://\u{6d4b}/{a}", "res://\u{6d4b}/x", "a=x"),
        ("a/{x}.json", "a/b.json.json", "x=b.json"),
        ("a/{x}.json", "a/b.jso", "-"),
        ("{a}-{b}", "x-y-z", "a=x b=y-z"),
        ("{a}", "a%zz", "-"),
        ("{a}", "%ff", "-"),
        ("{a}", "me@example.org", "a=me@example.org"),
        ("{x,y}", "1024,768", "x=1024 y=768"),
        ("{x,y}", "1,2,3", "-"),
        ("file:///{+path}", "file:///etc/hosts", "path=etc/hosts"),
        ("file:///{+path}", "file:///a%2Fb", "path=a/b"),
        ("f/{+path}{?v}", "f/a/b?v=1", "path=a/b v=1"),
        ("f{/path*}", "f/a/b/c", "path=[a|b|c]"),
        ("f{/path*}", "f", ""),
        ("f{/a,b}", "f/1/2", "a=1 b=2"),
        ("f{/a,b}", "f/1", "a=1"),
        ("f{/a,b}", "f/1/2/3", "-"),
        ("f{/a}/c", "f/x/c", "a=x"),
        ("f{/a}/c", "f/c", ""),
        ("s{?q,n}", "s?n=2&q=a%26b", "n=2 q=a&b"),
        ("s{?q,n}", "s", ""),
        ("s{?q,n}", "s?q=", "q="),
        ("s{?q}", "s?q=1&z=2", "-"),
        ("s{?q}", "s?q=1&q=2", "-"),
        ("s{?q}", "sx", "-"),
        ("s{?tags*}", "s?tags=a&tags=b", "tags=[a|b]"),
        ("s?fixed=yes{&x}", "s?fixed=yes&x=1", "x=1"),
        ("s?fixed=yes{&x}", "s?fixed=yes", ""),
        ("m{;x,y}", "m;x=1;y", "x=1 y="),
        ("s?q={q}&n={n}", "s?q=a/b?c&n=2", "n=2 q=a/b?c"),
        ("www{.dom*}", "www.example.com", "dom=[example|com]"),
        ("d{#part}", "d#a/b?c", "part=a/b?c"),
        ("u/{name:1}/{name}", "u/a/alice", "name=alice"),
        ("u/{name:1}/{name}", "u/b/alice", "-"),
        ("u/{name:3}", "u/alice", "-"),
        ("{a}/{a}", "x/x", "a=x"),
        ("{a}/{a}", "x/y", "-"),
        ("plain", "plain", ""),
        ("plain", "plain2", "-"),
    ] {
        assert_eq!(matched(text, uri), expected, "{text} on {uri}");
    }
    assert!(template("{a}").matches(&"a".repeat(MAX_URI_BYTES + 1)).is_none());
}

#[test]
fn a_value_that_leaves_its_place_matches_nothing() {
    let climbing = [
        "..",
        ".",
        "%2e%2e",
        "%2E.",
        "..%2fetc",
        "a%2Fb",
        "a%5Cb",
        "%2F",
        "a\\b",
        "%252e%252e",
        "a%252Fb",
        "%25252e%25252e",
        "a%00",
        "a%2500",
        "..%5c",
    ];
    for value in climbing {
        for text in
            ["file:///{name}", "file:///x/{name}", "x/{name}/y", "x{/name}", "x{/name*}", "m{;name}/z"]
        {
            let uri = text.replace("{name}", value).replace("{/name}", &format!("/{value}"));
            let uri =
                uri.replace("{/name*}", &format!("/{value}")).replace("{;name}", &format!(";name={value}"));
            assert_eq!(matched(text, &uri), "-", "{text} on {uri}");
        }
    }
    for value in [
        "../etc",
        "a/../b",
        "a/..",
        "./a",
        "a/%2e%2e/b",
        "a%2F..%2Fb",
        "..%5Cwindows",
        "a/%252e%252e/b",
        "a%00b",
        "a\\..\\b",
    ] {
        assert_eq!(matched("file:///{+path}", &format!("file:///{value}")), "-", "{value}");
    }
    // Values and literals together.
    assert_eq!(matched("x/.{a}/y", "x/../y"), "-");
    assert_eq!(matched("x/{a}./y", "x/../y"), "-");
    // A query is no path; only NUL is refused there.
    assert_eq!(matched("s{?q}", "s?q=../etc"), "q=../etc");
    assert_eq!(matched("s{?q}", "s?q=a%00"), "-");
    // Dots that climb nowhere.
    assert_eq!(matched("x/{a}", "x/..."), "a=...");
    assert_eq!(matched("x/{a}", "x/100%25"), "a=100%");
    assert_eq!(matched("x/{a}", "x/.hidden"), "a=.hidden");
}

/// Texts that stay in their place in a path.
fn plain() -> impl Strategy<Value = String> {
    "[a-zA-Z0-9 é世&=?#,;:@!'()*+$\\[\\]-][a-zA-Z0-9 é世&=?#,;:@!'()*+$\\[\\]~_.-]{0,12}"
}

proptest! {
    #[test]
    fn what_is_expanded_matches(a in plain(), b in plain(), q in any::<String>(), tags in prop::collection::vec(plain(), 1..4)) {
        let q = q.replace(['\0', '%'], "");
        let mut vars = Vars::from_iter([("a", a), ("b", b), ("q", q)]);
        vars.insert("tags", tags);
        for text in ["x://{a}/y/{b}{?q,tags*}", "{a}{/b}{?q,tags*}", "x{;a,b}{?q,tags*}", "x{/tags*}{?a,b,q}", "{a,b}{/tags*}{?q}"] {
            let uri = template(text).expand(&vars);
            let found = template(text).matches(&uri);
            assert_eq!(found.as_ref(), Some(&vars), "{text}: {uri}");
        }
    }

    #[test]
    fn no_text_panics(text in "[a-c{}?&/;#.+:*,1%é]{0,24}", uri in "[a-c?&/;#.,=%2eé]{0,24}") {
        if let Ok(template) = UriTemplate::parse(&text) {
            let _ = template.matches(&uri);
            let _ = template.expand(&rfc_vars());
        }
    }
}
