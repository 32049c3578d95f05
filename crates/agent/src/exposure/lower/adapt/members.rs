//! What a schema says of the members of objects and the items of arrays, lowered.

use super::super::super::json::Json;
use super::super::schema::{Keyword, Keywords, Schema, distinct};
use super::{Adapter, Unsaid};

impl Adapter<'_> {
    /// Members that cannot be shown, and patterns for names.
    pub(super) fn settle_members(&mut self, at: &str, keywords: &mut Keywords, unsaid: &mut Unsaid) {
        self.drop_forbidden(at, keywords);
        self.drop_names(at, keywords, unsaid);
        self.settle_patterns(at, keywords, unsaid);
        if let Some(names) = keywords.schema("propertyNames")
            && names.takes_all()
        {
            keywords.take("propertyNames");
        }
    }

    /// A property that nothing fits is not shown: that is the way to say that it must not be there.
    fn drop_forbidden(&mut self, at: &str, keywords: &mut Keywords) {
        if !keywords.map("properties").iter().any(|(_, schema)| schema.is_false()) {
            return;
        }
        let closed = keywords.schema("additionalProperties").is_some_and(Schema::is_false);
        let properties = keywords.take_map("properties");
        let (forbidden, kept): (Vec<_>, Vec<_>) =
            properties.into_iter().partition(|(_, schema)| schema.is_false());
        if !closed {
            for (_, schema) in &forbidden {
                self.losses.widened(&schema.at, "false", "that a property must be absent cannot be said");
            }
        }
        keywords.put("properties", Keyword::Map(kept));
        let required: Vec<String> = keywords.names("required").into_iter().map(str::to_owned).collect();
        let kept: Vec<&str> = required
            .iter()
            .map(String::as_str)
            .filter(|name| forbidden.iter().all(|(gone, _)| gone != name))
            .collect();
        if kept.len() < required.len() {
            self.losses.widened(at, "required", "it requires a property that must be absent");
            keywords.put_names("required", &kept);
        }
    }

    /// A property whose name the dialect does not take is told in words instead. It can still be given, because the
    /// object is left open.
    fn drop_names(&mut self, at: &str, keywords: &mut Keywords, unsaid: &mut Unsaid) {
        let properties = keywords.map("properties");
        if properties.iter().all(|(name, _)| self.rules.takes_name(name)) {
            self.drop_required(at, keywords, unsaid);
            return;
        }
        let properties = keywords.take_map("properties");
        let (kept, gone): (Vec<_>, Vec<_>) =
            properties.into_iter().partition(|(name, _)| self.rules.takes_name(name));
        for (_, schema) in &gone {
            self.losses.widened(&schema.at, "property", "the provider does not take its name");
        }
        let told = gone.iter().map(|(name, schema)| (name.clone(), schema.to_json())).collect();
        unsaid.add("properties", Json::Object(told));
        keywords.put("properties", Keyword::Map(kept));
        // Whatever else is said of further members must not be said of these.
        keywords.take("additionalProperties");
        self.drop_required(at, keywords, unsaid);
    }

    fn drop_required(&mut self, at: &str, keywords: &mut Keywords, unsaid: &mut Unsaid) {
        let required: Vec<String> = keywords.names("required").into_iter().map(str::to_owned).collect();
        let (kept, gone): (Vec<&String>, Vec<&String>) =
            required.iter().partition(|name| self.rules.takes_name(name));
        if !gone.is_empty() {
            self.losses.widened(at, "required", "it names a property that is not shown");
            unsaid.add("required", Json::Array(gone.into_iter().map(Json::text).collect()));
            keywords.put_names("required", &kept.into_iter().map(String::as_str).collect::<Vec<_>>());
        }
    }

    /// Members by patterns of their names: where these are not taken, each further member may be what any pattern
    /// says.
    fn settle_patterns(&mut self, at: &str, keywords: &mut Keywords, unsaid: &mut Unsaid) {
        let patterns = keywords.map("patternProperties");
        let taken = self.rules.takes("patternProperties")
            && patterns.iter().all(|(pattern, _)| self.rules.takes_pattern(pattern));
        if patterns.is_empty() || taken {
            return;
        }
        let patterns = keywords.take_map("patternProperties");
        self.losses.widened(at, "patternProperties", "members are shown without the patterns of their names");
        unsaid.add(
            "patternProperties",
            Json::Object(
                patterns.iter().map(|(pattern, schema)| (pattern.clone(), schema.to_json())).collect(),
            ),
        );
        // Without `additionalProperties`, or where several patterns hold for one name, anything goes.
        let rest = match keywords.take_schema("additionalProperties") {
            Some(rest) if !rest.takes_all() => {
                let mut several: Vec<Schema> = patterns.into_iter().map(|(_, schema)| schema).collect();
                if !rest.is_false() {
                    several.push(rest);
                }
                self.one_of_several(at, several)
            }
            _ => Schema::any(at),
        };
        keywords.put("additionalProperties", Keyword::Schema(Box::new(rest)));
    }

    /// The schema that takes what any of these takes.
    fn one_of_several(&mut self, at: &str, several: Vec<Schema>) -> Schema {
        if several.iter().any(Schema::takes_all) {
            return Schema::any(at);
        }
        let mut several = distinct(several.into_iter().filter(|schema| !schema.is_false()));
        if several.len() == 1 {
            return several.remove(0);
        }
        let mut keywords = Keywords::default();
        if !several.is_empty() {
            keywords.put("anyOf", Keyword::List(several));
        }
        Schema::new(at, keywords)
    }

    /// Tuples: where they are not taken, each item may be what any place of the tuple takes.
    pub(super) fn settle_tuples(&mut self, at: &str, keywords: &mut Keywords, unsaid: &mut Unsaid) {
        if keywords.has("prefixItems") && !self.rules.tuples {
            let places = keywords.take_list("prefixItems");
            self.losses.widened(at, "prefixItems", "items are shown without their places");
            unsaid.add("prefixItems", Json::Array(places.iter().map(Schema::to_json).collect()));
            let longest = places.len();
            let rest = keywords.take_schema("items").unwrap_or_else(|| Schema::any(at));
            if rest.is_false() {
                self.at_most(keywords, longest);
            }
            let bounded = keywords.plain("maxItems").and_then(Json::as_u64);
            let full = bounded.is_some_and(|most| most <= u64::try_from(longest).unwrap_or(u64::MAX));
            let several = places.into_iter().chain((!full).then_some(rest)).collect();
            let items = self.one_of_several(at, several);
            keywords.put("items", Keyword::Schema(Box::new(items)));
        }
        if keywords.schema("items").is_some_and(Schema::is_false) {
            let longest = keywords.list("prefixItems").len();
            keywords.take("items");
            self.at_most(keywords, longest);
        }
    }

    fn at_most(&mut self, keywords: &mut Keywords, most: usize) {
        let most = u64::try_from(most).unwrap_or(u64::MAX);
        let said = keywords.plain("maxItems").and_then(Json::as_u64);
        keywords.put_plain("maxItems", Json::Number(said.map_or(most, |said| said.min(most)).into()));
    }
}
