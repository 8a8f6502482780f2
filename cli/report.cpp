// kernelmap report: a report or plan that was written as JSON, for people.
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "cli/commands.h"
#include "cli/output.h"
#include "compiler/diff/side.h"
#include "compiler/html/errors.h"
#include "compiler/html/html.h"

namespace kernelmap {
namespace {

// The root of a JSON file. Nothing, and the exit code, where it cannot be read; what was found
// wrong is printed.
template <typename Read>
auto ReadJsonFile(const std::string& path, Read read, int* exit_code)
    -> decltype(read(Node(), static_cast<Diagnostics*>(nullptr))) {
  std::string error;
  std::optional<std::string> bytes = ReadFile(path, kReportLimits.bytes, &error);
  if (!bytes) {
    *exit_code = UsageError(error);
    return std::nullopt;
  }
  RemoveByteOrderMark(&*bytes);
  Diagnostics diagnostics(
      std::make_shared<Source>(path == "-" ? "<stdin>" : path, std::move(*bytes)));
  decltype(read(Node(), &diagnostics)) value;
  const std::optional<Node> root = ReadDocument(Syntax::kJson, &diagnostics, kReportLimits);
  if (root && diagnostics.errors() == 0) value = read(*root, &diagnostics);
  diagnostics.Finish();
  PrintDiagnostics(diagnostics.list());
  if (!value) *exit_code = 1;
  return value;
}

std::optional<Side> ReadAny(const Node& root, Diagnostics* diagnostics) {
  const Member* format = root.Find("format");
  if (format) return ReadOutput(root, format->value, diagnostics);
  diagnostics->Report<Diag::MissingKey>(root.span, "format", "a plan or report");
  return std::nullopt;
}

std::string Render(const Report& report, const SiteErrors& errors, const std::string& format) {
  if (format == "json") return ReportToJson(report);
  if (format == "markdown") return ReportToMarkdown(report);
  if (format == "html") return ReportToHtml(report, errors);
  return ReportToText(report);
}

std::string Render(const Plan& plan, const std::string& format) {
  if (format == "json") return PlanToJson(plan);
  if (format == "markdown") return PlanToMarkdown(plan);
  if (format == "html") return PlanToHtml(plan);
  return PlanToText(plan);
}

}  // namespace

int RunReport(const Args& args) {
  int exit_code = 0;
  std::optional<Side> side = ReadJsonFile(args.inputs.front(), ReadAny, &exit_code);
  if (!side) return exit_code;
  if (args.verified && (side->kind != SideKind::kReport || args.format != "html")) {
    return UsageError("--verified is for a report with --format html");
  }
  std::optional<SiteErrors> errors;
  if (args.verified && !(errors = ReadJsonFile(*args.verified, ReadSiteErrors, &exit_code))) {
    return exit_code;
  }
  if (side->kind == SideKind::kReport) {
    const Report report{*side->target, side->file, side->sha256, std::move(side->sites)};
    return WriteResult(args.output, Render(report, errors.value_or(SiteErrors{}), args.format));
  }
  Plan plan;
  plan.target = *side->target;
  plan.config_file = side->file;
  plan.config_sha256 = side->sha256;
  plan.entries = std::move(side->entries);
  plan.sites = std::move(side->sites);
  plan.has_sites = side->has_sites;
  return WriteResult(args.output, Render(plan, args.format));
}

}  // namespace kernelmap
