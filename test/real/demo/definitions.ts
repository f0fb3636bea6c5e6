import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { groupOf, type KindInfo } from 'ipam-kit/crd/meta'
import { parse } from 'yaml'
import { watchedKinds } from '../../../docs/examples/demo/in-cluster/kinds.js'
import { versionOf } from '../../../src/crd/meta/object.js'
import type { AnyObject } from '../servers/kube-api.js'

const UPSTREAM = fileURLToPath(new URL('../../../../shared/upstream-crds/', import.meta.url))
const FOLDERS = ['cluster-api', 'cluster-api-ipam-provider-in-cluster'].map((name) => `${UPSTREAM}${name}/`)

/**
 * The definitions of the kinds of the demo: those of their projects where they are at hand, else
 * some that take whatever is written.
 */
export function demoDefinitions(): readonly AnyObject[] {
  if (!FOLDERS.every((folder) => existsSync(folder))) return watchedKinds.map(openDefinitionOf)
  return FOLDERS.flatMap((folder) => readdirSync(folder).map((name) => parse(readFileSync(folder + name, 'utf8'))))
}

function openDefinitionOf({ apiVersion, kind, plural, namespaced, statusSubresource }: KindInfo): AnyObject {
  const group = groupOf(apiVersion)
  const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  const version = {
    name: versionOf(apiVersion),
    served: true,
    storage: true,
    schema: { openAPIV3Schema: { type: 'object', properties: { spec: open, status: open } } },
    ...(statusSubresource ? { subresources: { status: {} } } : {}),
  }
  const spec = {
    group,
    scope: namespaced ? 'Namespaced' : 'Cluster',
    names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
    versions: [version],
  }
  // a group that ends like those of Kubernetes itself is only taken with the word that somebody has
  // approved of it
  const annotations = { 'api-approved.kubernetes.io': 'unapproved, for a test' }
  const metadata = { name: `${plural}.${group}`, annotations }
  const definition = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', metadata, spec }
  return definition
}
