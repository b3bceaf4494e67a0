"""lapwing bench: asks the measuring programs beside this package of Lapwing and other MPI libraries.

What lives where; each module uses only those above it:

    questions   what is asked, by which program, with how many ranks, and of which candidates
    results     result lines, runs, the JSON file, medians and ratios
    machine     what this machine is and what else it does meanwhile
    candidates  MPI library x transport x variant, its settings, and how it is launched
    peers       finds and installs other MPI libraries
    programs    finds or compiles the measuring programs
    lab         the same across two emulated hosts
    running     one run, and the order of many
    table       results as text for the terminal
    sweep       cells (sweep, collectives, ascending): shares, a grid, what is lost
    targets     what Lapwing set out to reach, and whether it did
    plot, page  results as SVG, and everything as one HTML page
    beside      results of several machines side by side
    report      a text in Markdown of one machine and one day
    main        the command line
"""
