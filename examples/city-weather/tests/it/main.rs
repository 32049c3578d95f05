//! City weather as a client sees it, against a local service of the same shape as Open-Meteo.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and ends")]

use serde_json::{Value, json};
use switchboard_client::{CallError, Client};
use switchboard_testkit::canned::{self, Answer, Request};

/// Knows Paris, fails for Broken, answers nonsense for Odd, and knows nothing else.
fn service(request: &Request) -> Answer {
    let says = |part: &str| request.target.contains(part);
    let place = |name: &str, country: &str| json!({ "name": name, "country": country, "latitude": 48.85, "longitude": 2.35 });
    let answer = if says("/v1/search?") && says("name=Paris") {
        json!({ "results": [place("Paris", "France")] })
    } else if says("/v1/search?") && says("name=Odd") {
        json!({ "results": "none" })
    } else if says("/v1/search?") && says("name=Broken") {
        return (400, json!({ "error": true, "reason": "the quota is used up" }).to_string());
    } else if says("/v1/search?") {
        json!({ "generationtime_ms": 0.5 })
    } else if says("/v1/forecast?") && says("latitude=48.85") && says("longitude=2.35") {
        let fahrenheit = says("temperature_unit=fahrenheit") && says("wind_speed_unit=mph");
        let (temperature, wind) = if fahrenheit { (53.1, 6.8) } else { (11.7, 10.9) };
        json!({ "current": {
            "time": "2026-08-01T12:00", "temperature_2m": temperature,
            "relative_humidity_2m": 71, "wind_speed_10m": wind,
        } })
    } else {
        return (404, json!({ "reason": format!("there is no {}", request.target) }).to_string());
    };
    (200, answer.to_string())
}

async fn client() -> Client {
    let server = city_weather::server(Some(&canned::serve(service))).unwrap();
    Client::builder().in_process(&server).await.unwrap()
}

async fn call(client: &Client, tool: &str, arguments: Value) -> Result<Value, String> {
    match client.call(tool, &arguments).await {
        Ok(result) if result.is_error() => Err(text(&result)),
        Ok(result) => Ok(serde_json::to_value(result).unwrap()),
        Err(error) => panic!("{error}"),
    }
}

fn text(result: &impl serde::Serialize) -> String {
    serde_json::to_value(result).unwrap()["content"][0]["text"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_weather_of_a_city_is_a_sentence() {
    let client = client().await;
    let result = call(&client, "get_weather", json!({ "location": "Paris" })).await.unwrap();
    assert_eq!(result["content"][0]["text"], "Paris, France: 11.7 °C, humidity 71 %, wind 10.9 km/h");
}

#[tokio::test]
async fn the_weather_of_a_city_is_data_in_the_units_asked_for() {
    let client = client().await;
    for (units, temperature, unit, wind) in [
        (None, 11.7, "°C", "km/h"),
        (Some("metric"), 11.7, "°C", "km/h"),
        (Some("imperial"), 53.1, "°F", "mph"),
        (Some("kelvin"), 284.85, "K", "km/h"),
    ] {
        let mut arguments = json!({ "location": "Paris" });
        if let Some(units) = units {
            arguments["units"] = units.into();
        }
        let data = call(&client, "weather_current", arguments).await.unwrap()["structuredContent"].take();
        assert_eq!(data["temperature"], temperature, "{units:?}");
        assert_eq!(data["temperature_unit"], unit, "{units:?}");
        assert_eq!(data["wind_speed_unit"], wind, "{units:?}");
        assert_eq!(data["place"], "Paris, France");
    }
}

#[tokio::test]
async fn what_the_service_says_is_a_failure_of_the_tool() {
    let client = client().await;
    for (location, part) in [
        ("Nowhere", "no place is called \"Nowhere\""),
        ("Broken", "400 Bad Request: the quota is used up"),
        ("Odd", "something unreadable"),
    ] {
        let reason = call(&client, "get_weather", json!({ "location": location })).await.unwrap_err();
        assert!(reason.contains(part), "{location}: {reason}");
    }
    let bad = json!({ "location": "Paris", "units": "rankine" });
    let reason = call(&client, "weather_current", bad).await.unwrap_err();
    assert!(reason.contains("units") && reason.contains("kelvin"), "{reason}");
}

#[tokio::test]
async fn a_service_that_cannot_be_reached_is_a_failure_of_the_tool() {
    let server = city_weather::server(Some("http://127.0.0.1:9")).unwrap();
    let client = Client::builder().in_process(&server).await.unwrap();
    let reason = call(&client, "get_weather", json!({ "location": "Paris" })).await.unwrap_err();
    assert!(reason.contains("cannot be reached"), "{reason}");
}

#[tokio::test]
async fn the_program_speaks_stdio() {
    let client = Client::builder().command(env!("CARGO_BIN_EXE_city-weather"), [""; 0]).await.unwrap();
    let tools = client.tools().await.unwrap();
    assert_eq!(
        tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(),
        ["get_weather", "weather_current"]
    );
    let error = client.call_as::<Value>("get_weather", &json!({})).await.unwrap_err();
    assert!(matches!(&error, CallError::Tool(failure) if failure.text().contains("location")), "{error}");
    client.close().await;
}
