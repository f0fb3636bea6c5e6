#!/usr/bin/env node
// The IPAM plugin as a program: `ipam.type` is `whereabouts` for the objects of upstream, `ipam-kit`
// for blocks, or for a file with `ipam.sqlite`.
//
//   main.ts [--rules upstream] [--sticky pod] [--record FOLDER] [--socket PATH [--fallback thin]]
//   main.ts --daemon PATH [--rules upstream] [--sticky pod] [--record FOLDER]
//
// A runtime calls it by the name in `ipam.type`, without flags: a script of two lines can add them.
//
// flag-texts.ts says what each flag does.
//
// The kubeconfig is that of the configuration (`kubernetes.kubeconfig`), else that of KUBECONFIG.
// The Node is NODENAME, else the name of the host. A call writes one JSON text to stdout and ends
// with status 0 or 1. A daemon that cannot start ends with status 1, wrong flags with 2.
import { runProgram } from './program.js'

void runProgram()
