// The renderings of a survey.
#include <algorithm>

#include "compiler/display.h"
#include "compiler/json_writer.h"
#include "compiler/plan_json.h"
#include "compiler/store/folder.h"
#include "compiler/store/survey.h"
#include "compiler/words.h"

namespace kernelmap {
namespace {

std::string Join(std::vector<std::string> names) {
  for (std::string& name : names) name = Visible(name);
  return JoinTexts(names);
}

const BuildInfo* Chosen(const CommitInfo& commit) {
  for (const BuildInfo& build : commit.builds) {
    if (build.chosen) return &build;
  }
  return nullptr;
}

// What there is for the target.
std::string Summary(const CommitInfo& commit) {
  if (commit.redirect)
    return "leads to " + commit.redirect->repo + "@" + Visible(commit.redirect->revision);
  if (commit.problem) return commit.problem->text + " [" + commit.problem->code + "]";
  if (const BuildInfo* build = Chosen(commit)) {
    if (build->problem) {
      return build->variant + ": " + build->problem->text + " [" + build->problem->code + "]";
    }
    return build->variant;
  }
  return "no build for the target, " + std::to_string(commit.builds.size()) + " for others";
}

std::string FlagsText(const LayerInfo& layer) {
  std::string text;
  if (!layer.has_backward) text += "no backward";
  if (layer.can_torch_compile) text += std::string(text.empty() ? "" : ", ") + "torch.compile";
  return text.empty() ? layer.name : layer.name + " (" + text + ")";
}

std::string DetailsText(const BuildDetails& details) {
  const Metadata& metadata = details.metadata;
  std::string text = "      " + metadata.name + ", version " + metadata.version + ", " +
                     Visible(metadata.license) + ", " + metadata.backend;
  if (!metadata.archs.empty()) text += " for " + Join(metadata.archs);
  text += "\n      " + details.digest +
          (details.listed ? ", as metadata.json lists\n" : ", metadata.json lists no digests\n");
  text += details.library.empty() ? "      no shared library\n"
                                  : "      library " + Visible(details.library) + "\n";
  std::string layers;
  for (const LayerInfo& layer : details.layers) {
    layers += (layers.empty() ? "" : ", ") + Printable(FlagsText(layer));
  }
  text += "      layers " + (layers.empty() ? "none" : layers) + "\n";
  if (!metadata.python_depends.empty()) {
    text += "      needs of Python: " + Join(metadata.python_depends) + "\n";
  }
  for (const KernelDependency& other : metadata.kernel_depends) {
    text += "      depends on " + Visible(other.repo + "@" + other.revision) + "\n";
  }
  return text;
}

void WriteDetails(const std::optional<BuildDetails>& details, JsonWriter* json) {
  if (!details) return json->Null();
  const Metadata& metadata = details->metadata;
  json->BeginObject();
  json->Key("name").String(metadata.name);
  json->Key("id").String(metadata.id);
  json->Key("version").Integer(std::stoll(metadata.version));
  json->Key("license").String(metadata.license);
  json->Key("backend").String(metadata.backend);
  json->Key("archs").Strings(metadata.archs);
  json->Key("python_depends").Strings(metadata.python_depends);
  json->Key("kernel_depends").BeginArray();
  for (const KernelDependency& other : metadata.kernel_depends) {
    json->String(other.repo + "@" + other.revision);
  }
  json->EndArray();
  json->Key("digest").String(details->digest);
  json->Key("digests_listed").Bool(details->listed);
  json->Key("library");
  details->library.empty() ? json->Null() : json->String(details->library);
  json->Key("layers").BeginArray();
  for (const LayerInfo& layer : details->layers) {
    json->BeginObject();
    json->Key("name").String(layer.name);
    json->Key("has_backward").Bool(layer.has_backward);
    json->Key("can_torch_compile").Bool(layer.can_torch_compile);
    json->EndObject();
  }
  json->EndArray();
  json->EndObject();
}

void WriteBuild(const BuildInfo& build, JsonWriter* json) {
  json->BeginObject();
  json->Key("variant").String(build.variant);
  json->Key("chosen").Bool(build.chosen);
  json->Key("rejected");
  build.why.empty() ? json->Null() : json->String(build.why);
  json->Key("problem");
  WriteReason(build.problem, json);
  json->Key("details");
  WriteDetails(build.details, json);
  json->EndObject();
}

void WriteCommit(const CommitInfo& commit, JsonWriter* json) {
  json->BeginObject();
  json->Key("commit");
  commit.commit.empty() ? json->Null() : json->String(commit.commit);
  json->Key("refs").Strings(commit.refs);
  json->Key("present").Bool(commit.present);
  json->Key("redirect");
  commit.redirect ? json->String(commit.redirect->repo + "@" + commit.redirect->revision)
                  : json->Null();
  json->Key("problem");
  WriteReason(commit.problem, json);
  json->Key("builds").BeginArray();
  for (const BuildInfo& build : commit.builds) WriteBuild(build, json);
  json->EndArray();
  json->Key("others").Strings(commit.others);
  json->EndObject();
}

}  // namespace

std::string SurveyToJson(const std::vector<RepositoryInfo>& repositories, const Target& target) {
  JsonWriter json;
  json.BeginObject();
  json.Key("format").String("kernelmap-kernels/1");
  json.Key("target");
  WriteTarget(target, &json);
  json.Key("repositories").BeginArray();
  for (const RepositoryInfo& repository : repositories) {
    json.BeginObject();
    json.Key("name").String(repository.name);
    json.Key("local").Bool(repository.local);
    json.Key("commits").BeginArray();
    for (const CommitInfo& commit : repository.commits) WriteCommit(commit, &json);
    json.EndArray();
    json.Key("problems").Strings(SurveyProblems(repository));
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return std::move(json).Finish();
}

std::string SurveyToList(const std::vector<RepositoryInfo>& repositories, const Target& target) {
  std::string text = std::to_string(repositories.size()) +
                     (repositories.size() == 1 ? " repository" : " repositories") +
                     " in the store, for " + TargetText(target) + "\n";
  if (repositories.empty()) {
    text += "KERNELS_CACHE, HF_HUB_CACHE or HF_HOME says where the Hugging Face cache is\n";
  }
  for (const RepositoryInfo& repository : repositories) {
    text += Visible(repository.name) + "\n";
    size_t width = 0;
    for (const CommitInfo& commit : repository.commits) {
      width = std::max(width, Join(commit.refs).size());
    }
    for (const CommitInfo& commit : repository.commits) {
      const std::string refs = Join(commit.refs);
      text += "  " + (commit.commit.empty() ? std::string(10, '-') : commit.commit.substr(0, 10)) +
              "  " + refs + std::string(width - refs.size(), ' ') + "  " +
              Printable(Summary(commit)) + "\n";
    }
  }
  return text;
}

std::string SurveyToText(const RepositoryInfo& repository, const Target& target) {
  std::string text = Visible(repository.name) + " for " + TargetText(target) + "\n";
  for (const CommitInfo& commit : repository.commits) {
    if (!repository.local) {
      text += commit.commit.empty() ? "no commit" : "commit " + commit.commit;
      text += (commit.refs.empty() ? "" : " (" + Join(commit.refs) + ")") + "\n";
    }
    if (commit.problem || commit.redirect) text += "  " + Printable(Summary(commit)) + "\n";
    for (const BuildInfo& build : commit.builds) {
      text += std::string(build.problem       ? "  broken    "
                          : build.chosen      ? "  chosen    "
                          : build.why.empty() ? "  suits     "
                                              : "  rejected  ") +
              Visible(build.variant) + (build.why.empty() ? "" : ": " + Printable(build.why)) +
              "\n";
      if (build.problem) {
        text += "      " + Printable(build.problem->text) + " [" + build.problem->code + "]\n";
      }
      if (build.details) text += DetailsText(*build.details);
    }
    for (const std::string& other : commit.others) {
      text += "  no build  " + Visible(other) + "\n";
    }
  }
  return text;
}

}  // namespace kernelmap
