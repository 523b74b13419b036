# Writes a manual page for the program, each command, each subcommand and each job: cmake -D GLINT=PROGRAM -D OUT=DIR -P man.cmake
file(REMOVE_RECURSE ${OUT})

function(write_page name) # NAME WORD...
  execute_process(COMMAND ${GLINT} help --man ${ARGN} OUTPUT_VARIABLE page COMMAND_ERROR_IS_FATAL ANY)
  file(WRITE ${OUT}/${name}.1 "${page}")
endfunction()

function(write_pages prefix)
  write_page(${prefix} ${ARGN})
  execute_process(COMMAND ${GLINT} help --words ${ARGN} OUTPUT_VARIABLE lines COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]+" lines "${lines}")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "\t.*" "" word "${line}")
    if(word MATCHES "^[a-z]" AND NOT word STREQUAL help AND NOT prefix MATCHES "-(submit|explain)$") # they repeat the jobs
      write_pages(${prefix}-${word} ${ARGN} ${word})
    endif()
  endforeach()
endfunction()

write_pages(glint)
