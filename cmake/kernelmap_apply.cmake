# Rewrites a model when the project is built, and again only when something it was made from changed:
# the model, the config, the lock file, the kernels, kernelmap itself.
#
#   kernelmap_apply(TARGET
#     MODEL model.pt          the stock TorchScript archive
#     OUTPUT model.fast.pt    relative to the current binary folder
#     [CONFIG kernels.toml]   without it: the built-in mapping
#     [REPORT report.json]    relative to the current binary folder
#     [DEVICE cuda] [CAPABILITY 9.0] [MODE inference]
#     [STRICT] [LOCKED] [VERIFY])
#
# TARGET is part of `all`; let what needs the model depend on it. STRICT: a fallback fails the build.
function(kernelmap_apply target)
  cmake_parse_arguments(PARSE_ARGV 1 KM "STRICT;LOCKED;VERIFY"
                        "MODEL;OUTPUT;CONFIG;REPORT;DEVICE;CAPABILITY;MODE" "")
  if(KM_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "kernelmap_apply: unknown arguments: ${KM_UNPARSED_ARGUMENTS}")
  endif()
  foreach(needed MODEL OUTPUT)
    if(NOT KM_${needed})
      message(FATAL_ERROR "kernelmap_apply: ${needed} is missing")
    endif()
  endforeach()
  cmake_path(ABSOLUTE_PATH KM_MODEL)
  cmake_path(ABSOLUTE_PATH KM_OUTPUT BASE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  set(arguments)
  set(depends ${KM_MODEL} ${KERNELMAP_PROGRAM})
  set(byproducts)
  if(KM_CONFIG)
    cmake_path(ABSOLUTE_PATH KM_CONFIG)
    list(APPEND arguments ${KM_CONFIG})
    list(APPEND depends ${KM_CONFIG})
  endif()
  list(APPEND arguments ${KM_MODEL} -o ${KM_OUTPUT})
  if(KM_REPORT)
    cmake_path(ABSOLUTE_PATH KM_REPORT BASE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
    list(APPEND arguments --report ${KM_REPORT})
    list(APPEND byproducts ${KM_REPORT})
  endif()
  foreach(flag DEVICE CAPABILITY MODE)
    if(KM_${flag})
      string(TOLOWER ${flag} name)
      list(APPEND arguments --${name} ${KM_${flag}})
    endif()
  endforeach()
  foreach(flag STRICT LOCKED VERIFY)
    if(KM_${flag})
      string(TOLOWER ${flag} name)
      list(APPEND arguments --${name})
    endif()
  endforeach()
  add_custom_command(
    OUTPUT ${KM_OUTPUT} BYPRODUCTS ${byproducts}
    COMMAND ${KERNELMAP_PROGRAM} apply ${arguments} --depfile ${KM_OUTPUT}.d
    DEPENDS ${depends} DEPFILE ${KM_OUTPUT}.d
    COMMENT "Rewriting ${KM_MODEL}"
    VERBATIM)
  add_custom_target(${target} ALL DEPENDS ${KM_OUTPUT})
endfunction()
