// The commands of kernelmap, one function each, and the table of them all.
#pragma once

#include <vector>

#include "cli/args.h"

namespace kernelmap {

int RunCheck(const Args& args);
int RunPlan(const Args& args);
int RunInspect(const Args& args);
int RunExplain(const Args& args);
int RunKernels(const Args& args);
int RunLock(const Args& args);
int RunFetch(const Args& args);
int RunDiff(const Args& args);
int RunDoctor(const Args& args);
int RunReport(const Args& args);
int RunInit(const Args& args);
int RunFmt(const Args& args);
int RunCompletions(const Args& args);
int RunMan(const Args& args);

/// In the order in which --help lists them.
const std::vector<Command>& Commands();

/// The program's version: "0.1.0".
const char* Version();
/// The version, and what the program is built with: a line each.
std::string VersionText();

}  // namespace kernelmap
