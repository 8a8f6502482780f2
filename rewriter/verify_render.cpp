#include <cstdio>

#include "compiler/json_writer.h"
#include "compiler/site_path.h"
#include "rewriter/verify.h"

namespace kernelmap {
namespace {

std::string Format(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

void WriteDifference(JsonWriter& json, const Difference& difference) {
  json.Key("max_abs").Number(difference.max_abs);
  json.Key("max_rel").Number(difference.max_rel);
  json.Key("max_ulp").Number(difference.max_ulp);
  json.Key("bit_exact").Bool(difference.bit_exact);
}

void WriteOptional(JsonWriter& json, const char* key, const std::optional<double>& value) {
  json.Key(key);
  value ? json.Number(*value) : json.Null();
}

void WriteInputs(JsonWriter& json, const VerifyResult& result) {
  json.Key("inputs").BeginObject();
  json.Key("source").String(result.input_source);
  json.Key("tensors").BeginArray();
  for (const InputDescription& input : result.inputs) {
    json.BeginObject();
    json.Key("dtype").String(input.dtype);
    json.Key("shape").BeginArray();
    for (const int64_t size : input.shape) json.Integer(size);
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

void WriteTolerance(JsonWriter& json, const VerifyResult& result) {
  json.Key("tolerance").BeginObject();
  json.Key("kind").String(result.tolerance_kind);
  json.Key("limit").Number(result.limit);
  WriteOptional(json, "stock_error", result.stock_error);
  WriteOptional(json, "out_error", result.out_error);
  WriteOptional(json, "stock_rms", result.stock_rms);
  WriteOptional(json, "out_rms", result.out_rms);
  WriteOptional(json, "unit", result.unit);
  WriteOptional(json, "rms_unit", result.rms_unit);
  json.Key("float32_run_failed");
  result.float32_run_failed.empty() ? json.Null() : json.String(result.float32_run_failed);
  json.EndObject();
}

std::string ToleranceText(const VerifyResult& result) {
  if (result.tolerance_kind == "float32_run") {
    const auto norm = [&](const char* name, double out, double stock, double unit) {
      return std::string(name) + " " + Format(out) + ", stock " + Format(stock) + ", at most " +
             Format(result.limit * stock + unit);
    };
    return "distance from a float32 run: " +
           norm("largest", *result.out_error, *result.stock_error, *result.unit) + "; " +
           norm("rms", *result.out_rms, *result.stock_rms, *result.rms_unit);
  }
  std::string text = "relative error at most " + Format(result.limit);
  if (!result.float32_run_failed.empty()) {
    text += " (no float32 run to compare with: " + result.float32_run_failed + ")";
  }
  return text;
}

std::string DifferenceText(const Difference& difference) {
  if (difference.bit_exact) return "bit-exact";
  return "max abs " + Format(difference.max_abs) + ", max rel " + Format(difference.max_rel) +
         ", " + Format(difference.max_ulp) + " ulp";
}

std::string SiteLabel(const SiteDifference& site) { return PathText(site.path) + "  " + site.name; }

void WriteWorst(JsonWriter& json, const VerifyResult& result) {
  json.Key("worst_site");
  if (!result.worst_site) return json.Null();
  const SiteDifference& site = result.sites[*result.worst_site];
  json.BeginObject();
  json.Key("path").String(site.path);
  json.Key("name").String(site.name);
  json.Key("max_rel").Number(site.output->max_rel);
  json.EndObject();
}

}  // namespace

std::string VerifyToJson(const VerifyResult& result) {
  JsonWriter json;
  json.BeginObject();
  json.Key("format").String("kernelmap-verify/1");
  json.Key("model").String(result.model_file);
  json.Key("out").String(result.out_file);
  WriteInputs(json, result);
  json.Key("output").BeginObject();
  WriteDifference(json, result.output);
  WriteTolerance(json, result);
  json.Key("ok").Bool(result.ok);
  json.Key("deterministic").Bool(result.deterministic);
  json.EndObject();
  json.Key("sites").BeginArray();
  for (const SiteDifference& site : result.sites) {
    json.BeginObject();
    json.Key("path").String(site.path);
    json.Key("name").String(site.name);
    if (site.output) {
      WriteDifference(json, *site.output);
    } else {
      for (const char* key : {"max_abs", "max_rel", "max_ulp", "bit_exact"}) json.Key(key).Null();
    }
    json.Key("deterministic");
    site.deterministic ? json.Bool(*site.deterministic) : json.Null();
    json.EndObject();
  }
  json.EndArray();
  WriteWorst(json, result);
  json.EndObject();
  return std::move(json).Finish();
}

std::string VerifyToText(const VerifyResult& result) {
  std::string text = result.out_file + " against " + result.model_file + ": " +
                     (result.ok ? "ok" : "FAILED") + ", " + DifferenceText(result.output) + ", " +
                     (result.deterministic ? "deterministic" : "not deterministic") + "\n  " +
                     ToleranceText(result) + "\n  on " + result.input_source;
  for (const InputDescription& input : result.inputs) {
    text += " " + input.dtype + "[";
    for (size_t i = 0; i < input.shape.size(); ++i) {
      text += (i ? ", " : "") + std::to_string(input.shape[i]);
    }
    text += "]";
  }
  text += "\n";
  for (const SiteDifference& site : result.sites) {
    text += "  " + SiteLabel(site) + "  " +
            (site.output ? DifferenceText(*site.output) : "not called in both") +
            (site.deterministic.value_or(true) ? "" : ", not deterministic") + "\n";
  }
  if (result.worst_site) {
    text += "  worst: " + SiteLabel(result.sites[*result.worst_site]) + "\n";
  }
  return text;
}

}  // namespace kernelmap
