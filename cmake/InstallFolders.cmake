# Folders that are given as absolute paths, made relative to the prefix: an installation can be moved as a whole, so its programs, its wrappers and what
# pkg-config and CMake read of it find each other from where they lie.

foreach(folder BINDIR LIBDIR INCLUDEDIR LIBEXECDIR DATADIR)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${folder}}")
    file(RELATIVE_PATH lapwing_folder "${CMAKE_INSTALL_PREFIX}" "${CMAKE_INSTALL_${folder}}")
    if(lapwing_folder MATCHES "^(\\.\\./|$)")
      message(FATAL_ERROR "CMAKE_INSTALL_${folder} is ${CMAKE_INSTALL_${folder}}, which is not below CMAKE_INSTALL_PREFIX, ${CMAKE_INSTALL_PREFIX}. "
                          "Lapwing is installed into one prefix, because its parts find each other from where they lie.")
    endif()
    set(CMAKE_INSTALL_${folder} ${lapwing_folder})
  endif()
endforeach()
