export * as ClusterApi from './cluster-api/index.js'
export * as InCluster from './in-cluster/index.js'
export * as Meta from './meta/index.js'
