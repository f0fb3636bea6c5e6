#!/usr/bin/env node
// A CNI plugin as a program: an IPAM plugin that answers the addresses of its configuration.
//
//   CNI_COMMAND=ADD CNI_CONTAINERID=c1 CNI_NETNS=/run/netns/x CNI_IFNAME=eth0 tsx main.ts <<EOF
//   {"cniVersion":"1.0.0","name":"lab","ipam":{"type":"static-address","addresses":[{"address":"10.4.0.5/24"}]}}
//   EOF
//
// It writes one JSON text to stdout and ends with status 0 or 1. It waits 10 seconds for the end of
// stdin.
import { MAX_CNI_STDIN_BYTES } from 'ipam-kit/cni'
import { serve } from '../cni-plugin/serve.js'
import { staticAddress } from './static-address.js'

const limits = { maxBytes: MAX_CNI_STDIN_BYTES, timeoutMs: 10_000 }
const { stdout, exitCode } = await serve(staticAddress, { env: process.env, stdin: process.stdin, limits })
// a runtime that has closed its end does not read the answer
process.stdout.once('error', () => process.exit(1))
process.stdout.write(stdout, () => process.exit(exitCode))
