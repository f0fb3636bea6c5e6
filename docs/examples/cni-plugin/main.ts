#!/usr/bin/env node
// The IPAM plugin as a program: `ipam.type` is `whereabouts` for the objects of upstream, `ipam-kit`
// for blocks, or for a file with `ipam.sqlite`.
//
//   main.ts [--rules upstream] [--sticky pod] [--record FOLDER] [--socket PATH [--fallback thin]]
//   main.ts --daemon PATH [--rules upstream] [--sticky pod] [--record FOLDER]
//
// A runtime calls it by the name in `ipam.type`, without flags: a script of two lines can add them.
//
//   --rules upstream   the configuration is read as upstream reads it, with the texts of upstream;
//                      DEL succeeds if the API server cannot be reached or refuses
//   --sticky pod       a new container of a Pod name gets the address of the container before, as
//                      upstream does
//   --claim-owners G/V/PLURAL/KIND
//                      of the type whereabouts: an ADD makes the claim that its interface names, for
//                      an owner of this kind. Several kinds are separated by commas
//   --record FOLDER    the containers that this Node has added, for GC. Without it, GC frees less.
//   --daemon PATH      answers other calls at this socket, until SIGTERM or SIGINT
//   --socket PATH      passes the call on to the daemon at this socket
//   --fallback thin    carries out the call itself if the daemon has not begun it
//
// The kubeconfig is that of the configuration (`kubernetes.kubeconfig`), else that of KUBECONFIG.
// The Node is NODENAME, else the name of the host. A call writes one JSON text to stdout and ends
// with status 0 or 1. A daemon that cannot start ends with status 1, wrong flags with 2.
import { runProgram } from './program.js'

void runProgram()
