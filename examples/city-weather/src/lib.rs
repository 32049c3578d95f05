//! An MCP server for the weather of a city, over the HTTP API of Open-Meteo or any of the same shape.

mod open_meteo;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchboard_server::{Args, BuildError, Builder, Json, Server, State, Tool, ToolError};

pub use crate::open_meteo::Api;

/// The MCP server; `base_url` names another service of the same shape.
///
/// # Errors
/// When the server's definition is faulty, naming every fault.
pub fn server(base_url: Option<&str>) -> Result<Server, BuildError> {
    builder().build(Api::at(base_url))
}

/// What the server is made of, for whoever wants it in another way.
pub fn builder() -> Builder<Api> {
    let sentence = Tool::new("get_weather", get_weather).describe("The weather in a city, in one sentence");
    let data =
        Tool::new("weather_current", weather_current).describe("The current weather in a city, as data");
    Server::builder("city-weather", env!("CARGO_PKG_VERSION"))
        .tool(sentence.read_only())
        .tool(data.read_only())
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Place {
    /// A city, such as Paris.
    location: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct PlaceAndUnits {
    /// A city, such as Paris.
    location: String,
    /// metric (the default) is °C and km/h, imperial °F and mph, kelvin K and km/h.
    #[serde(default)]
    units: Units,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Units {
    #[default]
    Metric,
    Imperial,
    Kelvin,
}

/// The weather of a city.
#[derive(Debug, Serialize, JsonSchema)]
struct Weather {
    /// The place that was found.
    place: String,
    /// When this was so, in local time.
    time: String,
    temperature: f64,
    temperature_unit: &'static str,
    /// Relative, in percent.
    humidity: f64,
    wind_speed: f64,
    wind_speed_unit: &'static str,
}

async fn get_weather(State(api): State<Api>, Args(asked): Args<Place>) -> Result<String, ToolError> {
    let Weather { place, temperature, temperature_unit, humidity, wind_speed, wind_speed_unit, .. } =
        weather(&api, &asked.location, Units::Metric).await?;
    let wind = format!("{wind_speed} {wind_speed_unit}");
    Ok(format!("{place}: {temperature} {temperature_unit}, humidity {humidity} %, wind {wind}"))
}

async fn weather_current(
    State(api): State<Api>,
    Args(asked): Args<PlaceAndUnits>,
) -> Result<Json<Weather>, ToolError> {
    weather(&api, &asked.location, asked.units).await.map(Json)
}

async fn weather(api: &Api, location: &str, units: Units) -> Result<Weather, ToolError> {
    let Some(city) = api.find(location).await.map_err(ToolError::say)? else {
        return Err(ToolError::say(format!("no place is called {location:?}; try the nearest larger city")));
    };
    let (degrees, speed) =
        if matches!(units, Units::Imperial) { ("fahrenheit", "mph") } else { ("celsius", "kmh") };
    let now = api.current(&city, degrees, speed).await.map_err(ToolError::say)?;
    let (zero, temperature_unit, wind_speed_unit) = match units {
        Units::Metric => (0.0, "°C", "km/h"),
        Units::Imperial => (0.0, "°F", "mph"),
        Units::Kelvin => (273.15, "K", "km/h"),
    };
    Ok(Weather {
        place: [Some(city.name), city.country].into_iter().flatten().collect::<Vec<_>>().join(", "),
        time: now.time,
        temperature: ((now.temperature_2m + zero) * 100.0).round() / 100.0,
        temperature_unit,
        humidity: now.relative_humidity_2m,
        wind_speed: now.wind_speed_10m,
        wind_speed_unit,
    })
}
