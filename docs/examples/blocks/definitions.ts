#!/usr/bin/env node
// The definitions of the kinds, for a cluster: tsx docs/examples/blocks/definitions.ts | kubectl
// apply --server-side -f -
import { IPBlock, IPDomain, IPHandle, IPPool } from 'ipam-kit/crd/ipam-kit'
import { crdManifest } from 'ipam-kit/crd/manifest'

const items = [IPDomain, IPPool, IPBlock, IPHandle].map((model) => crdManifest(model))
console.log(JSON.stringify({ apiVersion: 'v1', kind: 'List', items }, null, 2))
