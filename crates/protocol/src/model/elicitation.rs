//! Elicitation: a server asks the person [spec: client/elicitation].

use std::fmt;

use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Parameters of `elicitation/create`. No mode means a form.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "mode", rename_all = "lowercase")]
pub enum Elicit {
    /// A form to fill in.
    Form(ElicitForm),
    /// An address to visit.
    Url(ElicitUrl),
}

impl<'de> Deserialize<'de> for Elicit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Tag {
            #[serde(default)]
            mode: Option<String>,
        }
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let tag: Tag = serde_json::from_str(raw.get()).map_err(de::Error::custom)?;
        match tag.mode.as_deref() {
            None | Some("form") => serde_json::from_str(raw.get()).map(Self::Form).map_err(de::Error::custom),
            Some("url") => serde_json::from_str(raw.get()).map(Self::Url).map_err(de::Error::custom),
            Some(other) => Err(de::Error::unknown_variant(other, &["form", "url"])),
        }
    }
}

/// A form to fill in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ElicitForm {
    /// What is asked.
    pub message: String,
    /// The fields.
    pub requested_schema: ElicitSchema,
}

/// An address to visit, outside the client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ElicitUrl {
    /// Why.
    pub message: String,
    /// The address. Never fetched by the client itself.
    pub url: String,
}

/// A flat object of primitive fields, in the order in which they are asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ElicitSchema {
    /// The dialect, if named.
    #[serde(rename = "$schema", default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// Always `object`.
    pub r#type: ObjectType,
    /// The fields.
    pub properties: Fields,
    /// The names of the fields that must be filled in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<Vec<String>>,
}

/// The constant `object`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ObjectType {
    /// The only value.
    #[default]
    Object,
}

/// Fields by name, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields(pub Vec<(String, PrimitiveSchema)>);

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, schema) in &self.0 {
            map.serialize_entry(name, schema)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldsVisitor;
        impl<'de> de::Visitor<'de> for FieldsVisitor {
            type Value = Fields;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of primitive schemas")
            }
            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(FieldsVisitor)
    }
}

/// One field of a form.
///
/// The specification tells its kinds apart by `type` and by which of `enum`, `oneOf` and `items`
/// is present; there is no tag.
#[derive(Clone, Debug, PartialEq)]
pub enum PrimitiveSchema {
    /// Text.
    String {
        /// Title and description.
        label: Label,
        /// The fewest characters.
        min_length: Option<u64>,
        /// The most characters.
        max_length: Option<u64>,
        /// `email`, `uri`, `date` or `date-time`.
        format: Option<String>,
        /// Filled in beforehand.
        default: Option<String>,
    },
    /// A number, or an integer.
    Number {
        /// Title and description.
        label: Label,
        /// Whether only integers will do.
        integer: bool,
        /// The least value.
        minimum: Option<serde_json::Number>,
        /// The greatest value.
        maximum: Option<serde_json::Number>,
        /// Filled in beforehand.
        default: Option<serde_json::Number>,
    },
    /// Yes or no.
    Boolean {
        /// Title and description.
        label: Label,
        /// Filled in beforehand.
        default: Option<bool>,
    },
    /// One of several.
    Choice {
        /// Title and description.
        label: Label,
        /// The values, with titles where the schema has them.
        options: Options,
        /// Filled in beforehand.
        default: Option<String>,
    },
    /// Some of several.
    MultiChoice {
        /// Title and description.
        label: Label,
        /// The values, with titles where the schema has them.
        options: Options,
        /// The fewest choices.
        min_items: Option<u64>,
        /// The most choices.
        max_items: Option<u64>,
        /// Filled in beforehand.
        default: Option<Vec<String>>,
    },
}

impl PrimitiveSchema {
    /// Fills nothing in beforehand.
    pub fn forget_default(&mut self) {
        match self {
            Self::String { default, .. } | Self::Choice { default, .. } => *default = None,
            Self::Number { default, .. } => *default = None,
            Self::Boolean { default, .. } => *default = None,
            Self::MultiChoice { default, .. } => *default = None,
        }
    }

    /// Title and description.
    #[must_use]
    pub fn label(&self) -> &Label {
        match self {
            Self::String { label, .. }
            | Self::Number { label, .. }
            | Self::Boolean { label, .. }
            | Self::Choice { label, .. }
            | Self::MultiChoice { label, .. } => label,
        }
    }

    /// What the field is filled in with beforehand, as an answer has it.
    #[must_use]
    pub fn default_value(&self) -> Option<Value> {
        match self {
            Self::String { default, .. } | Self::Choice { default, .. } => default.clone().map(Value::String),
            Self::Number { default, .. } => default.clone().map(Value::Number),
            Self::Boolean { default, .. } => default.map(Value::Bool),
            Self::MultiChoice { default, .. } => {
                default.clone().map(|values| values.into_iter().map(Value::String).collect())
            }
        }
    }
}

/// Title and description of a field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Label {
    /// For people.
    pub title: Option<String>,
    /// What it means.
    pub description: Option<String>,
}

/// The values of a choice, in the shape in which the schema writes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Options {
    /// `enum`.
    Untitled(Vec<String>),
    /// `oneOf` or `anyOf` of `const` and `title`.
    Titled(Vec<TitledOption>),
    /// `enum` with `enumNames`.
    Named(Vec<String>, Vec<String>),
}

/// A value and what it is called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TitledOption {
    /// The value.
    pub r#const: String,
    /// For people.
    pub title: String,
}

impl Options {
    /// The values.
    pub fn values(&self) -> impl Iterator<Item = &str> {
        let (plain, titled): (&[String], &[TitledOption]) = match self {
            Self::Untitled(values) | Self::Named(values, _) => (values, &[]),
            Self::Titled(options) => (&[], options),
        };
        plain.iter().map(String::as_str).chain(titled.iter().map(|option| option.r#const.as_str()))
    }
}

#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Flat {
    #[serde(default)]
    r#type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    min_length: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_length: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    format: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    minimum: Option<serde_json::Number>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    maximum: Option<serde_json::Number>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    min_items: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_items: Option<u64>,
    #[serde(default, rename = "enum", skip_serializing_if = "Option::is_none")]
    values: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    enum_names: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    one_of: Option<Vec<TitledOption>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    items: Option<Items>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    default: Option<Value>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Items {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    r#type: Option<String>,
    #[serde(default, rename = "enum", skip_serializing_if = "Option::is_none")]
    values: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    any_of: Option<Vec<TitledOption>>,
}

fn default_of<T: de::DeserializeOwned, E: de::Error>(value: Option<Value>) -> Result<Option<T>, E> {
    value.map(serde_json::from_value).transpose().map_err(|error| E::custom(format!("default: {error}")))
}

impl<'de> Deserialize<'de> for PrimitiveSchema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let flat = Flat::deserialize(deserializer)?;
        let label = Label { title: flat.title, description: flat.description };
        Ok(match flat.r#type.as_str() {
            "boolean" => Self::Boolean { label, default: default_of(flat.default)? },
            kind @ ("number" | "integer") => Self::Number {
                label,
                integer: kind == "integer",
                minimum: flat.minimum,
                maximum: flat.maximum,
                default: default_of(flat.default)?,
            },
            "string" => {
                let options = match (flat.values, flat.enum_names, flat.one_of) {
                    (None, _, None) => {
                        return Ok(Self::String {
                            label,
                            min_length: flat.min_length,
                            max_length: flat.max_length,
                            format: flat.format,
                            default: default_of(flat.default)?,
                        });
                    }
                    (_, _, Some(titled)) => Options::Titled(titled),
                    (Some(values), Some(names), None) => Options::Named(values, names),
                    (Some(values), None, None) => Options::Untitled(values),
                };
                Self::Choice { label, options, default: default_of(flat.default)? }
            }
            "array" => {
                let items = flat.items.ok_or_else(|| de::Error::missing_field("items"))?;
                let options = match (items.any_of, items.values) {
                    (Some(titled), _) => Options::Titled(titled),
                    (None, Some(values)) => Options::Untitled(values),
                    (None, None) => return Err(de::Error::custom("items has neither enum nor anyOf")),
                };
                Self::MultiChoice {
                    label,
                    options,
                    min_items: flat.min_items,
                    max_items: flat.max_items,
                    default: default_of(flat.default)?,
                }
            }
            other => {
                let known = &["string", "number", "integer", "boolean", "array"];
                return Err(de::Error::unknown_variant(other, known));
            }
        })
    }
}

impl Serialize for PrimitiveSchema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let flat = match self.clone() {
            Self::String { label, min_length, max_length, format, default } => {
                let default = default.map(Value::String);
                Flat { min_length, max_length, format, default, ..Flat::of("string", label) }
            }
            Self::Number { label, integer, minimum, maximum, default } => {
                let kind = if integer { "integer" } else { "number" };
                Flat { minimum, maximum, default: default.map(Value::Number), ..Flat::of(kind, label) }
            }
            Self::Boolean { label, default } => {
                Flat { default: default.map(Value::Bool), ..Flat::of("boolean", label) }
            }
            Self::Choice { label, options, default } => {
                let mut flat = Flat { default: default.map(Value::String), ..Flat::of("string", label) };
                match options {
                    Options::Untitled(values) => flat.values = Some(values),
                    Options::Titled(titled) => flat.one_of = Some(titled),
                    Options::Named(values, names) => {
                        flat.values = Some(values);
                        flat.enum_names = Some(names);
                    }
                }
                flat
            }
            Self::MultiChoice { label, options, min_items, max_items, default } => {
                let default = default.map(|values| values.into_iter().map(Value::String).collect());
                let items = Some(match options {
                    Options::Titled(titled) => Items { r#type: None, values: None, any_of: Some(titled) },
                    Options::Untitled(values) | Options::Named(values, _) => {
                        Items { r#type: Some("string".into()), values: Some(values), any_of: None }
                    }
                });
                Flat { min_items, max_items, items, default, ..Flat::of("array", label) }
            }
        };
        flat.serialize(serializer)
    }
}

impl Flat {
    fn of(kind: &str, label: Label) -> Self {
        Self { r#type: kind.into(), title: label.title, description: label.description, ..Self::default() }
    }
}

/// What the person said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ElicitResult {
    /// Whether they answered.
    pub action: ElicitAction,
    /// The fields of the form, if they accepted one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Map<String, Value>>,
}

/// Whether the person answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ElicitAction {
    /// They did.
    Accept,
    /// They refused.
    Decline,
    /// They closed the question without a choice.
    Cancel,
}
